"""Every switch with its default, and where its effective value came from.

defaults < home `config.toml` < `WORKBENCH_*` environment < what the caller passes. A project's `memory.toml` can set
layers and globs only and is read elsewhere.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from workbench.core.activation import Freshness
from workbench.core.errors import InputError

DEFAULT_ENGINE = "e5-small"
DEFAULT_RERANKER = "minilm-l12-ce"


class Lexical(StrEnum):
    """The lexical arm: stemmed words with CJK bigrams and short terms, or the bare trigram arm of the contract."""

    WORDS = "words"
    CONTRACT = "contract"


class MutationMode(StrEnum):
    """Whether the write gate takes changes."""

    READWRITE = "readwrite"
    READONLY = "readonly"


class Settings(BaseSettings):
    """Effective settings. Made by `load_settings`."""

    model_config = SettingsConfigDict(env_prefix="WORKBENCH_", extra="forbid", frozen=True)

    engine: str = Field(DEFAULT_ENGINE, description="catalogue entry or folder of the embedding model; `none` for none")
    reranker: str = Field(DEFAULT_RERANKER, description="catalogue entry of the cross-encoder; `none` for none")
    freshness: Freshness = Field(Freshness.READY_HEAD, description="which revision answers while another is built")
    lexical: Lexical = Field(Lexical.WORDS, description="the lexical arm")
    memory_mutation_mode: MutationMode = Field(
        MutationMode.READWRITE, description="the write gate; readonly: refuses changes, recall and recovery go on"
    )
    whiteboard_write: bool = Field(True, description="the whiteboard entry of the write gate; off: pages are only read")
    cross_encoder: bool = Field(False, description="rerank where the model is admitted; off means RRF order")
    embedding_cache: bool = Field(True, description="reuse vectors; off: nothing is reused, everything still correct")
    index_delta_sync: bool = Field(True, description="send changes to remote workers; off: everything, every time")
    threads: int = Field(2, ge=1, le=64, description="threads that one model may use")
    limits: dict[str, int] = Field(default_factory=dict, description="limits laid over the defaults, by name")


def home_folder() -> Path:
    """`WORKBENCH_HOME`, else the platform's user data folder."""
    given = os.environ.get("WORKBENCH_HOME")
    return Path(given).expanduser() if given else Path(platformdirs.user_data_dir("memory-workbench", appauthor=False))


def load_settings(home: Path, **overrides: Any) -> Settings:
    """The settings of a home with `overrides` on top; None among the overrides means "not given".

    Raises: `InputError("invalid_argument")` naming every setting that does not hold, and where it stands.
    """
    config = home / "config.toml"
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return _settings_class(config)(**given)
    except ValidationError as error:
        findings = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        raise InputError(
            "invalid_argument", f"Correct these settings: {'; '.join(findings)}.", detail=findings
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError("invalid_argument", f"config.toml is not valid TOML: {error}.") from error


def _settings_class(config: Path) -> type[Settings]:
    class HomeSettings(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config)

    return HomeSettings


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """One setting: its effective value and where it came from (`default`, `config.toml`, `environment`)."""

    name: str
    value: Any
    origin: str
    description: str


def explain_settings(home: Path) -> tuple[SettingOrigin, ...]:
    """Every setting of a home in the order of `Settings`, for `doctor`. Raises as `load_settings`."""
    settings = load_settings(home)
    config = home / "config.toml"
    written = tomllib.loads(config.read_text(encoding="utf-8")) if config.exists() else {}
    environment = {name.upper() for name in os.environ}
    return tuple(
        SettingOrigin(name, getattr(settings, name), _origin(name, written, environment), field.description or "")
        for name, field in Settings.model_fields.items()
    )


def _origin(name: str, written: Mapping[str, Any], environment: Set[str]) -> str:
    if f"WORKBENCH_{name.upper()}" in environment:
        return "environment"
    return "config.toml" if name in written else "default"
