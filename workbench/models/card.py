"""What an installed folder says about itself: `install.json`, its file digests, and the engine identity they make.

The card is read without opening the model, so that an index can be checked against an engine that is not in memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from workbench.core.errors import ModelError
from workbench.core.hashing import digest
from workbench.core.wire import Wire
from workbench.models.base import EngineIdentity
from workbench.models.catalogue import Entry, Recipe, Role

CARD_FILE, CARD_FORMAT = "install.json", 1
ADAPTERS = {
    Recipe.CONTAINER: "onnx-1",
    Recipe.TRANSFORMER: "onnx-1",
    Recipe.ONNX: "onnx-1",
    Recipe.USE_M3: "use-m3-1",
}
"""The adapter that runs what a recipe made. Its number rises when the adapter's arithmetic or input changes."""
_ENGINE_FILES = {"onnx-1": ("onnx/model.onnx", "tokenizer.json")}


class FileDigest(Wire):
    bytes: int
    sha256: str


class ModelCard(Wire):
    """Everything that was decided when the model was installed."""

    format: int
    name: str
    model: str
    role: Role
    adapter: str
    package: str
    version: str
    wheel_sha256: str
    licence: str
    languages: tuple[str, ...]
    dimension: int
    max_tokens: int | None
    pooling: str
    query_prefix: str
    passage_prefix: str
    precision: str
    normalised: bool
    metric: str
    files: Mapping[str, FileDigest]

    @property
    def identity(self) -> EngineIdentity:
        """Model, adapter and input rules, with the digests of the files that the adapter reads."""
        used = _ENGINE_FILES.get(self.adapter, tuple(self.files))
        parts = self.model_dump(include=_IDENTITY_FIELDS)
        parts["files"] = {name: self.files[name].sha256 for name in used}
        return EngineIdentity(self.name, digest(parts), self.dimension)

    @property
    def installed_bytes(self) -> int:
        return sum(file.bytes for file in self.files.values())


_IDENTITY_FIELDS = {
    "model",
    "adapter",
    "dimension",
    "max_tokens",
    "pooling",
    "query_prefix",
    "passage_prefix",
    "precision",
    "normalised",
    "metric",
}


def make_card(entry: Entry, folder: Path) -> ModelCard:
    """The card of a folder that was just converted from `entry`; hashes every file in it."""
    encoding = entry.encoding
    return ModelCard(
        format=CARD_FORMAT,
        name=entry.name,
        model=entry.model,
        role=entry.role,
        adapter=ADAPTERS[entry.recipe],
        package=entry.wheel.package,
        version=entry.wheel.version,
        wheel_sha256=entry.wheel.sha256,
        licence=entry.licence,
        languages=entry.languages,
        dimension=encoding.dimension,
        max_tokens=encoding.max_tokens,
        pooling=encoding.pooling,
        query_prefix=encoding.query_prefix,
        passage_prefix=encoding.passage_prefix,
        precision=encoding.precision,
        normalised=entry.role is Role.EMBEDDER,
        metric="cosine",
        files=file_digests(folder),
    )


def write_card(card: ModelCard, folder: Path) -> None:
    """Put the card into its folder."""
    text = json.dumps(card.model_dump(mode="json"), indent=2, ensure_ascii=False)
    (folder / CARD_FILE).write_text(text, encoding="utf-8")


def read_card(name: str, models_folder: Path) -> ModelCard:
    """The card of an installed model.

    Raises: `ModelError("model_missing")` when it is not installed, `ModelError("model_invalid")` when the card cannot
    be read; both name the command that helps.
    """
    command = f"workbench models install {name}"
    try:
        return ModelCard.model_validate_json((models_folder / name / CARD_FILE).read_bytes())
    except FileNotFoundError as error:
        raise ModelError("model_missing", f"The model {name} is not installed; run `{command}`.") from error
    except (OSError, ValidationError) as error:
        raise ModelError("model_invalid", f"The model {name} has no readable card; run `{command}`.") from error


def file_digests(folder: Path) -> dict[str, FileDigest]:
    """Every file below a folder by its POSIX path, sorted; the card itself and byte code are left out."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files if path != folder / CARD_FILE}


def file_digest(path: Path) -> FileDigest:
    """Size and sha256 of a file, read in pieces."""
    with path.open("rb") as file:
        return FileDigest(sha256=hashlib.file_digest(file, "sha256").hexdigest(), bytes=path.stat().st_size)
