from __future__ import annotations

from pathlib import Path

import pytest

from workbench.core.errors import InputError
from workbench.core.resource import Layer
from workbench.memory.layout import load_layout


@pytest.mark.parametrize(
    ("source_ref", "layer"),
    [
        ("user/editor.md", Layer.USER),
        ("user/tools/deep/git.md", Layer.USER),
        ("log/2026.md", Layer.LOG),
        ("reflection/a.md", Layer.REFLECTION),
        ("whiteboard/a.md", Layer.WHITEBOARD),
        ("README.MD", Layer.PROJECT),
        ("notes/user/a.md", Layer.PROJECT),
        ("users/a.md", Layer.PROJECT),
        ("notes/picture.png", None),
    ],
)
def test_unconfigured_folder_has_the_default_layers(tmp_path: Path, source_ref: str, layer: Layer | None) -> None:
    assert load_layout(tmp_path).layer_of(source_ref) == layer


def test_memory_toml_moves_one_layer_and_leaves_the_others(tmp_path: Path) -> None:
    (tmp_path / "memory.toml").write_text('[layers]\nlog = ["journal/**/*.md", "diary.md"]\nuser = []\n', "utf-8")
    layout = load_layout(tmp_path)
    assert [layout.layer_of(ref) for ref in ("journal/2026/a.md", "diary.md")] == [Layer.LOG, Layer.LOG]
    assert layout.layer_of("log/a.md") is Layer.PROJECT
    assert layout.layer_of("user/a.md") is Layer.PROJECT
    assert layout.layer_of("whiteboard/a.md") is Layer.WHITEBOARD


def test_project_layer_can_be_narrowed(tmp_path: Path) -> None:
    (tmp_path / "memory.toml").write_text('[layers]\nproject = ["docs/"]\n', "utf-8")
    layout = load_layout(tmp_path)
    assert layout.layer_of("docs/deep/a.md") is Layer.PROJECT
    assert layout.layer_of("docs/logo.svg") is None
    assert layout.layer_of("a.md") is None


def test_globs_match_names_in_one_normal_form(tmp_path: Path) -> None:
    (tmp_path / "memory.toml").write_bytes('[layers]\nlog = ["cafe\u0301/*.md"]\n'.encode())
    assert load_layout(tmp_path).layer_of("caf\u00e9/a.md") is Layer.LOG


@pytest.mark.field(57)
@pytest.mark.field(106)
@pytest.mark.parametrize(
    ("toml", "finding"),
    [
        ('command = "rm -rf /"', "command"),
        ('[models]\nembedder = "evil"', "models"),
        ('[layers]\nplugin = ["*.py"]', "layers.plugin"),
        ('[layers]\nlog = "log/*.md"', "layers.log"),
        ("[layers]\nlog = [1]", "layers.log"),
        ("layers = 3", "layers"),
        ('[layers]\nlog = ["../secret/*.md"]', "'../secret/*.md' points outside"),
        ('[layers]\nlog = ["a/../../b.md"]', "points outside"),
        ('[layers]\nlog = ["/etc/**"]', "points outside"),
        ('[layers]\nlog = ["~/notes/*.md"]', "points outside"),
        ('[layers]\nlog = ["C:/notes/*.md"]', "points outside"),
        ('[layers]\nlog = ["!a.md"]', "is not a glob"),
        ('[layers]\nlog = [""]', "is not a glob"),
        ("[layers\n", "Correct memory.toml"),
    ],
)
def test_memory_toml_can_say_nothing_but_layers_and_globs(tmp_path: Path, toml: str, finding: str) -> None:
    (tmp_path / "memory.toml").write_text(toml, "utf-8")
    with pytest.raises(InputError) as refused:
        load_layout(tmp_path)
    assert refused.value.code == "invalid_argument"
    assert finding in refused.value.message


def test_every_finding_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "memory.toml").write_text('run = 1\n[layers]\nnone = []\nlog = ["../a", "/b"]\n', "utf-8")
    with pytest.raises(InputError) as refused:
        load_layout(tmp_path)
    assert len(refused.value.detail) == 4


def test_memory_toml_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"Correct memory\.toml"):
        load_layout(tmp_path)
