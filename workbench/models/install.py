"""Installs, verifies and lists the models of the catalogue in a home's `models` folder.

A model's folder appears whole or not at all: everything is made beside it and renamed. Only its owner can read it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from filelock import FileLock

from workbench.core.deadline import Deadline
from workbench.core.errors import ModelError
from workbench.core.progress import Progress, no_progress
from workbench.core.wire import Wire
from workbench.models.card import ModelCard, file_digests, make_card, read_card, write_card
from workbench.models.catalogue import CATALOGUE, Entry, Recipe, Role, find_entry
from workbench.models.convert import convert_container, convert_onnx, convert_package, convert_transformer
from workbench.models.open import embedder_of, reranker_of
from workbench.models.wheel import Fetch, pip_fetch, unpack
from workbench.storage.files import FILE_MODE, FOLDER_MODE, owner_only_folder, writing

_UNFINISHED = ".installing-"
_STEPS = 4
_CONVERT: dict[Recipe, Callable[[Path, Path], None]] = {
    Recipe.CONTAINER: convert_container,
    Recipe.TRANSFORMER: convert_transformer,
    Recipe.ONNX: convert_onnx,
    Recipe.USE_M3: convert_package,
}


class ModelListing(Wire):
    """A catalogue entry and whether it is here. Sizes and load time as measured when the entry was written."""

    name: str
    model: str
    role: Role
    state: Literal["absent", "installed"]
    licence: str
    languages: tuple[str, ...]
    dimension: int
    max_tokens: int | None
    package: str
    version: str
    sha256: str
    download_mb: int
    installed_mb: int
    load_seconds: float


def list_models(models_folder: Path) -> tuple[ModelListing, ...]:
    """Every entry of the catalogue, in its order. A folder whose card cannot be read counts as absent."""
    return tuple(_listing(entry, models_folder) for entry in CATALOGUE.values())


def install_model(name: str, models_folder: Path, progress: Progress = no_progress) -> Path:
    """The folder of the installed model; a model that is there and whole is left as it is, a damaged one is replaced.

    Raises: `InputError("model_unknown")`; `ModelError("install_failed")`; `StorageError("home_unwritable")`.
    """
    return install_entry(find_entry(name), models_folder, progress, pip_fetch)


def install_entry(entry: Entry, models_folder: Path, progress: Progress, fetch: Fetch) -> Path:
    """`install_model` for an entry and a source of wheels that the caller names."""
    owner_only_folder(models_folder)
    folder = models_folder / entry.name
    # One installation at a time, so that whatever lies unfinished was left by a killed one.
    with FileLock(models_folder / ".install.lock", mode=FILE_MODE), writing(models_folder):
        if not _is_whole(entry, models_folder):
            for left in models_folder.glob(f"{_UNFINISHED}*"):
                shutil.rmtree(left)
            with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=models_folder) as scratch:
                _replace(folder, _made(entry, Path(scratch), progress, fetch), Path(scratch))
    progress("install", _STEPS, _STEPS)
    return folder


def verify_model(name: str, models_folder: Path) -> None:
    """Hash every file again and encode a few words.

    Raises: `InputError("model_unknown")`; `ModelError("model_missing")`; `ModelError("model_invalid")` naming every
    file that is missing, changed or new.
    """
    find_entry(name)
    card = read_card(name, models_folder)
    findings = _differences(card, models_folder / name)
    if findings:
        hint = f"run `workbench models install {name}`"
        raise ModelError("model_invalid", f"{name} has changed ({'; '.join(findings)}); {hint}.", detail=findings)
    check_answers(card, models_folder / name)


def check_answers(card: ModelCard, folder: Path) -> None:
    """Encode or score a few words. Raises: `ModelError("model_invalid")` when the answer makes no sense."""
    same, other = "the sky is blue", "a train leaves at noon"
    if card.role is Role.RERANKER:
        deadline = Deadline.after_ms(60_000)
        right, wrong = reranker_of(card, folder, 1).score("what colour is the sky", [same, other], deadline)
    else:
        embedder = embedder_of(card, folder, 1)
        passages = embedder.encode_passages([embedder.fit_passage("", (), text) for text in (same, other)])
        right, wrong = passages @ embedder.encode_query(same)
    if not right > wrong:
        raise ModelError("model_invalid", f"{card.name} ranks an unrelated text first; install it again.")


def _made(entry: Entry, scratch: Path, progress: Progress, fetch: Fetch) -> Path:
    progress("install", 0, _STEPS)
    wheels, built = scratch / "wheels", scratch / entry.name
    wheels.mkdir()
    built.mkdir(FOLDER_MODE)
    wheel = fetch(entry.wheel, wheels)
    progress("install", 1, _STEPS)
    part = unpack(wheel, entry.wheel, scratch / "unpacked")
    progress("install", 2, _STEPS)
    _convert(entry, part, built)
    card = make_card(entry, built)
    write_card(card, built)
    progress("install", 3, _STEPS)
    check_answers(card, built)
    for path in (built, *built.rglob("*")):
        path.chmod(FOLDER_MODE if path.is_dir() else FILE_MODE)
    return built


def _convert(entry: Entry, part: Path, built: Path) -> None:
    try:
        _CONVERT[entry.recipe](part, built)
    except ImportError as error:
        extra = "pip install 'memory-workbench[models]'"
        raise ModelError("install_failed", f"Installing {entry.name} needs {error.name}; run `{extra}`.") from error


def _replace(folder: Path, built: Path, scratch: Path) -> None:
    if folder.exists():
        folder.rename(scratch / "replaced")
    built.rename(folder)


def _is_whole(entry: Entry, models_folder: Path) -> bool:
    try:
        card = read_card(entry.name, models_folder)
    except ModelError:
        return False
    same_source = (card.version, card.wheel_sha256) == (entry.wheel.version, entry.wheel.sha256)
    return same_source and not _differences(card, models_folder / entry.name)


def _differences(card: ModelCard, folder: Path) -> list[str]:
    found = file_digests(folder)
    names = sorted({*found, *card.files})
    return [f"{name}: {_difference(name in found)}" for name in names if found.get(name) != card.files.get(name)]


def _difference(present: bool) -> str:
    return "not as installed" if present else "missing"


def _listing(entry: Entry, models_folder: Path) -> ModelListing:
    try:
        read_card(entry.name, models_folder)
        state: Literal["absent", "installed"] = "installed"
    except ModelError:
        state = "absent"
    return ModelListing(
        name=entry.name,
        model=entry.model,
        role=entry.role,
        state=state,
        licence=entry.licence,
        languages=entry.languages,
        dimension=entry.encoding.dimension,
        max_tokens=entry.encoding.max_tokens,
        package=entry.wheel.package,
        version=entry.wheel.version,
        sha256=entry.wheel.sha256,
        download_mb=entry.download_mb,
        installed_mb=entry.installed_mb,
        load_seconds=entry.load_seconds,
    )
