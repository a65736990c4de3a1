"""Lines of a set's files, each with its place; a line that cannot be read is a finding and the next one is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.core.errors import InputError
from workbench.core.hashing import sha256_hex
from workbench.evaluation.importers.parsed import Findings

_BOM = b"\xef\xbb\xbf"


class SetFiles:
    """The files of one set below a folder; remembers the sha256 of each that was read."""

    def __init__(self, folder: Path, findings: Findings) -> None:
        self.folder, self.findings = folder, findings
        self.read: dict[str, str] = {}

    def has(self, name: str) -> bool:
        """Whether the set has this file."""
        return (self.folder / name).is_file()

    def objects(self, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """(place, object) of every line of a JSON Lines file that holds one."""
        for place, line in self._lines(name):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                self.findings.add(place, f"not JSON: {error}")
                continue
            if isinstance(value, dict):
                yield place, value
            else:
                self.findings.add(place, "not a JSON object")

    def rows(self, name: str, columns: int) -> Iterator[tuple[str, list[str]]]:
        """(place, cells) of every line of a tab-separated file below its header, which may be missing.

        A header is a first line whose last cell is no number.
        """
        for number, (place, line) in enumerate(self._lines(name)):
            cells = line.split("\t")
            if number == 0 and whole_number(cells[-1]) is None:
                continue
            if len(cells) == columns:
                yield place, cells
            else:
                self.findings.add(place, f"{len(cells)} tab-separated cells instead of {columns}")

    def document(self, name: str) -> Any:
        """The one JSON value of a file. Raises: `InputError("invalid_argument")` when it is none."""
        try:
            return json.loads(self._bytes(name).removeprefix(_BOM))
        except (ValueError, RecursionError) as error:
            raise InputError("invalid_argument", f"{self.folder / name} is not JSON: {error}.") from error

    def _lines(self, name: str) -> Iterator[tuple[str, str]]:
        for number, raw in enumerate(self._bytes(name).removeprefix(_BOM).split(b"\n"), start=1):
            place = f"{name} line {number}"
            try:
                line = raw.decode("utf-8").rstrip("\r")
            except UnicodeDecodeError as error:
                self.findings.add(place, f"not UTF-8: {error.reason} at byte {error.start}")
                continue
            if line.strip():
                yield place, line

    def _bytes(self, name: str) -> bytes:
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            raise InputError("invalid_argument", f"{self.folder / name} cannot be read: {error.strerror}.") from error
        self.read[name] = sha256_hex(data)
        return data


def text_of(row: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that holds text or a whole number, as text; None when none does."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None


def whole_number(cell: str) -> int | None:
    """The whole number that a cell holds, or None."""
    try:
        return int(cell)
    except ValueError:
        return None
