"""The house stands: imports point one way, foreign libraries stay behind their fences, and starting is cheap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent

FLOORS = (
    "core",
    "markdown",
    "storage",
    "models",
    "memory",
    "index",
    "retrieval",
    "injection",
    "evaluation",
    "experiments",
    "views",
    "app",
    "cli",
)
"""From the bottom up: a floor imports only what stands before it."""

FENCES = {
    "sqlite3": ("workbench.storage",),
    "torch": ("workbench.models",),
    "transformers": ("workbench.models",),
    "sentence_transformers": ("workbench.models",),
    "onnxruntime": ("workbench.models",),
    "onnx": ("workbench.models",),
    "tokenizers": ("workbench.models",),
    "ranx": ("workbench.evaluation.metrics",),
    "ipywidgets": ("workbench.views",),
    "anywidget": ("workbench.views",),
    "matplotlib": ("workbench.views",),
    "pandas": ("workbench.views", "workbench.evaluation"),
    "markdown_it": ("workbench.markdown",),
    "Stemmer": ("workbench.core.terms",),
    "watchfiles": ("workbench.index.watcher",),
    "rich": ("workbench.cli",),
    "typer": ("workbench.cli",),
}
"""Foreign library -> the only modules, with what is inside them, that may import it."""

HEAVY = ("torch", "transformers", "sentence_transformers", "onnxruntime", "tokenizers", "numpy", "pandas")
HEAVY += ("matplotlib", "ranx", "IPython", "ipywidgets", "anywidget", "papermill", "Stemmer", "markdown_it")
HEAVY += ("simsimd", "watchfiles")

LONGEST_MODULE = 300


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("workbench", include_external_packages=True, cache_dir=None)


def test_every_module_stands_on_a_floor(imports: grimp.ImportGraph) -> None:
    floors = {f"workbench.{floor}" for floor in FLOORS} | {"workbench.__main__"}
    assert imports.find_children("workbench") <= floors


def test_imports_point_down_the_floors_only(imports: grimp.ImportGraph) -> None:
    standing = [f"workbench.{floor}" for floor in FLOORS if f"workbench.{floor}" in imports.modules]
    routes = imports.find_illegal_dependencies_for_layers(layers=tuple(reversed(standing)))
    assert not [f"{route.importer} -> {route.imported}" for route in routes]


def test_the_service_stands_above_the_workbench(imports: grimp.ImportGraph) -> None:
    assert "serve" not in imports.modules


def test_no_floor_has_an_import_cycle(imports: grimp.ImportGraph) -> None:
    assert not [
        f"{package}: {importer} -> {imported}"
        for package in sorted(imports.modules)
        if package.startswith("workbench") and imports.find_children(package)
        for importer, imported in imports.nominate_cycle_breakers(package)
    ]


@pytest.mark.parametrize("library", FENCES)
def test_a_foreign_library_stays_behind_its_fence(imports: grimp.ImportGraph, library: str) -> None:
    if library not in imports.modules:
        return
    importers = imports.find_modules_that_directly_import(library)
    assert not [module for module in importers if not _inside(module, FENCES[library])]


@pytest.mark.field(103)
@pytest.mark.parametrize("module", ["workbench", "workbench.cli"])
def test_starting_imports_nothing_heavy(module: str) -> None:
    script = f"import sys, {module}; print(*sys.modules.keys() & set({HEAVY!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


def test_every_module_says_what_it_answers_and_fits_on_a_few_pages() -> None:
    for module in sorted((ROOT / "workbench").rglob("*.py")):
        text = module.read_text(encoding="utf-8")
        assert text.startswith('"""'), f"{module} does not say what it answers"
        assert text.count("\n") <= LONGEST_MODULE, f"{module} is long: it does more than one thing"


def _inside(module: str, fence: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in fence)
