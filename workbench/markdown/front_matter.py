"""Front matter and nothing else is metadata: a closed YAML (`---`) or TOML (`+++`) block on the first line.

A block that is not closed, one that a blank line follows, and YAML that is no mapping are prose between rulers: body.
All values are text, as written: no YAML type can turn `0054` or `yes` into something else.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from workbench.markdown.errors import FRONT_MATTER, UnreadableSource

_YAML = re.compile(r"---[^\S\n]*\n(?![^\S\n]*\n)(.*?)^(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[^\S\n]*\n(.*?)^\+\+\+[^\S\n]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_OTHER_NAMES = ("aliases", "tags", "keywords")
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class FrontMatter(NamedTuple):
    """The scalar fields, white space around them removed, and where the body begins.

    `description` also holds, on a line of its own, what `aliases`, `tags` and `keywords` list: the other words by which
    people expect to find the note.
    """

    fields: Mapping[str, str]
    body_start: int


def split_front_matter(text: str) -> FrontMatter:
    """Raises: `UnreadableSource` when a closed block is not valid YAML or TOML."""
    for pattern, read in ((_YAML, _read_yaml), (_TOML, tomllib.loads)):
        block = pattern.match(text)
        if block is None:
            continue
        try:
            values = read(block[1])
        except (yaml.YAMLError, tomllib.TOMLDecodeError, RecursionError) as error:
            raise UnreadableSource(FRONT_MATTER) from error
        if isinstance(values, Mapping):
            return FrontMatter(_fields(values), block.end())
    return FrontMatter({}, 0)


def _read_yaml(block: str) -> Any:
    try:
        values = yaml.load(block, Loader=_LOADER)
    except yaml.YAMLError:
        if "\t" not in block:
            raise
        # Tabs are what people type; YAML refuses them, and a note is worth more than the rule.
        values = yaml.load(block.replace("\t", "  "), Loader=_LOADER)
    return {} if values in (None, "") else values


def _fields(values: Mapping[Any, Any]) -> Mapping[str, str]:
    fields = {str(name): str(value).strip() for name, value in values.items() if not isinstance(value, list | dict)}
    lines = (fields.get("description", ""), ", ".join(_other_names(values)))
    return fields | {"description": "\n".join(line for line in lines if line)}


def _other_names(values: Mapping[Any, Any]) -> Iterator[str]:
    for field in _OTHER_NAMES:
        given = values.get(field) or ()
        names = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else ()
        yield from (name.strip() for name in names if isinstance(name, str) and name.strip())
