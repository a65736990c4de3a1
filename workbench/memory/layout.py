"""Which layer a file belongs to: the defaults, with what `memory.toml` in the memory root says laid over them.

`memory.toml` is data. It holds one table, `[layers]`, of layer -> list of globs (as in .gitignore files, relative to
the root); it can name no code, no command, no model and no path outside the root.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from workbench.core.errors import InputError, StorageError
from workbench.core.resource import Layer

LAYOUT_FILE = "memory.toml"
MARKDOWN_SUFFIXES = (".md", ".markdown")
DEFAULT_GLOBS: Mapping[Layer, tuple[str, ...]] = {
    Layer.USER: ("user/**/*.[mM][dD]",),
    Layer.LOG: ("log/**/*.[mM][dD]",),
    Layer.REFLECTION: ("reflection/**/*.[mM][dD]",),
    Layer.WHITEBOARD: ("whiteboard/**/*.[mM][dD]",),
    Layer.PROJECT: ("*.[mM][dD]",),
}
"""In the order in which layers are asked: project, which takes every other Markdown file, comes last."""
_OUTSIDE = re.compile(r"^[/~]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)|^\\\\")


@dataclass(frozen=True, slots=True)
class Layout:
    """Layers and their compiled globs, in the order of `DEFAULT_GLOBS`; the first layer that matches has the file."""

    rules: tuple[tuple[Layer, tuple[re.Pattern[str], ...]], ...]
    _layers: dict[str, Layer | None] = field(default_factory=dict, repr=False, compare=False)

    def layer_of(self, source_ref: str) -> Layer | None:
        """The layer of a path relative to the root; None when no layer wants it or it is not Markdown."""
        if source_ref not in self._layers:
            self._layers[source_ref] = self._find_layer(source_ref)
        return self._layers[source_ref]

    def _find_layer(self, source_ref: str) -> Layer | None:
        if source_ref.lower().endswith(MARKDOWN_SUFFIXES):
            for layer, globs in self.rules:
                if any(glob.search(source_ref) for glob in globs):
                    return layer
        return None


def load_layout(root: Path) -> Layout:
    """The layout of a memory root. A layer that `memory.toml` does not name keeps its default; an empty list ends it.

    Raises: `InputError("invalid_argument")` with every finding at once; `StorageError("project_unreadable")` when the
    file is there and cannot be read.
    """
    try:
        raw = (root / LAYOUT_FILE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raw = b""
    except OSError as error:
        message = f"{root / LAYOUT_FILE} cannot be read ({error.strerror}); the last index is left alone."
        raise StorageError("project_unreadable", message) from error
    return _layout_of(raw)


@lru_cache(maxsize=16)
def _layout_of(raw: bytes) -> Layout:
    """One layout for equal files, so that a process which scans again and again asks about each path once."""
    return _compile({**DEFAULT_GLOBS, **_configured(raw)})


def _compile(globs: Mapping[Layer, tuple[str, ...]]) -> Layout:
    rules = {layer: [_regex_of(glob) for glob in globs[layer]] for layer in DEFAULT_GLOBS}
    return Layout(tuple((layer, tuple(filter(None, regexes))) for layer, regexes in rules.items()))


def _regex_of(glob: str) -> re.Pattern[str] | None:
    """The expression behind a glob, which a scan of many files asks directly; None for what is no glob."""
    try:
        pattern = GitIgnoreSpecPattern(glob)
    except ValueError:
        return None
    return pattern.regex if pattern.include else None


def _configured(raw: bytes) -> dict[Layer, tuple[str, ...]]:
    try:
        document = tomllib.loads(raw.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError("invalid_argument", f"Correct {LAYOUT_FILE}: {error}.") from error
    findings = [f"{name}: only the table [layers] is known" for name in document if name != "layers"]
    layers = document.get("layers", {})
    if isinstance(layers, dict):
        findings += [finding for name, globs in layers.items() for finding in _faults(name, globs)]
    else:
        findings.append("layers: not a table")
    if findings:
        raise InputError("invalid_argument", f"Correct {LAYOUT_FILE}: {'; '.join(findings)}.", detail=findings)
    return {Layer(name): tuple(unicodedata.normalize("NFC", glob) for glob in globs) for name, globs in layers.items()}


def _faults(name: str, globs: Any) -> list[str]:
    """Everything that is wrong with one line of the table."""
    if name not in set(Layer):
        return [f"layers.{name}: no such layer; known are {', '.join(DEFAULT_GLOBS)}"]
    if not isinstance(globs, list) or not all(isinstance(glob, str) for glob in globs):
        return [f"layers.{name}: not a list of globs"]
    return [f"layers.{name}: {glob!r} {fault}" for glob in globs if (fault := _glob_fault(glob))]


def _glob_fault(glob: str) -> str | None:
    if _OUTSIDE.search(glob):
        return "points outside the memory root"
    return "is not a glob" if _regex_of(glob) is None else None
