"""Every stream of the command is UTF-8, whatever the locale of the process says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.product.folders import COMMAND, Place

PAGE = "# Выпуск 发布\n\nПроверка перед выпуском: 先确认告警静默 — don’t skip it 🐘.\n"
LOCALES = (
    {"LC_ALL": "C", "LANG": "C"},
    {"PYTHONIOENCODING": "cp1252"},
    {"PYTHONIOENCODING": "ascii:strict"},
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path, "fake")
    (tmp_path / "память").mkdir()
    (tmp_path / "память" / "发布🐘.md").write_text(PAGE, encoding="utf-8")
    return place


@pytest.mark.field(38, 39)
@pytest.mark.parametrize("locale", LOCALES, ids=lambda locale: next(iter(locale)))
@pytest.mark.parametrize("as_json", [True, False])
def test_what_is_written_to_a_file_is_utf8(place: Place, tmp_path: Path, locale: dict[str, str], as_json: bool) -> None:
    command = [*COMMAND, "activate", "-", "--project", str(tmp_path / "память"), *(["--json"] if as_json else [])]
    out = tmp_path / "out.txt"

    with out.open("wb") as stream:
        done = subprocess.run(
            command,
            input="告警静默 выпуском".encode(),
            stdout=stream,
            stderr=subprocess.PIPE,
            env=place.environment | locale,
            check=False,
        )

    said = out.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr.decode("utf-8")
    if as_json:
        (fragment,) = json.loads(said)["fragments"]
        assert (fragment["path"], fragment["text"]) == ("发布🐘.md", PAGE.strip())
    assert "先确认告警静默 — don’t skip it 🐘" in said and "\\u" not in said


@pytest.mark.field(38, 39)
def test_bytes_on_stdin_that_are_no_text_are_refused_by_their_code(place: Place, tmp_path: Path) -> None:
    command = [*COMMAND, "activate", "-", "--project", str(tmp_path / "память")]

    done = subprocess.run(command, input=b"caf\xe9", capture_output=True, env=place.environment, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith(b"invalid_query: ")
