"""A text as a section of a log or reflection: dated where it has no heading of its own, put at the end of its file.

Never changes what stands in the file; no text becomes part of another entry, or changes how later ones read.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from workbench.core.errors import InputError
from workbench.core.resource import Layer
from workbench.core.text import clean_text, is_valid_unicode
from workbench.markdown.blocks import leaves_open
from workbench.markdown.entries import Page, sections
from workbench.markdown.errors import UnreadableSource
from workbench.markdown.source import Entry, open_page, parse_source
from workbench.markdown.source_text import SourceText
from workbench.memory.whiteboard.places import appended
from workbench.memory.writing.places import Place

SECTIONED = (Layer.LOG, Layer.REFLECTION)


class Appended(NamedTuple):
    """A file with a section at its end: its bytes, and the ids of the entries that this adds."""

    content: bytes
    ids: tuple[str, ...]


def with_section(source_ref: str, place: Place, text: str, title: str, today: date) -> Appended:
    """The file with the text as a section at its end, in its own line ends.

    Raises: `invalid_argument` for a text that is no section, and where the end of the file would swallow it.
    """
    section = encoded(_section(text, title, today))
    content = appended(place.held or b"", section)
    alone, together = entries_in(source_ref, place.layer, section), entries_in(source_ref, place.layer, content)
    added = together[-len(alone) :]
    if [entry.body for entry in added] != [entry.body for entry in alone]:
        message = f"{source_ref} ends inside a code fence, a comment or front matter, which would swallow a new entry."
        raise InputError("invalid_argument", message)
    return Appended(content, tuple(map(id_of, added)))


def entries_in(source_ref: str, layer: Layer, content: bytes) -> tuple[Entry, ...]:
    """What a source would hold. Raises: `invalid_argument` when that is nothing, or could not be read back."""
    try:
        entries = parse_source(source_ref, layer, content).entries
    except UnreadableSource as error:
        message = f"Nothing was written. {source_ref} could not be read back ({error.reason})."
        raise InputError("invalid_argument", message) from error
    if not entries:
        raise InputError("invalid_argument", f"Nothing was written. {source_ref} would hold no entry.")
    return entries


def id_of(entry: Entry) -> str:
    """The id of a new entry: a contested claim is refused by the gate."""
    return entry.claimed_id or entry.derived_id


def encoded(text: str) -> bytes:
    """The text as a file has it. Raises: `invalid_argument` for half a character, which no file can hold."""
    if not is_valid_unicode(text):
        raise InputError("invalid_argument", "The text holds half a character (a lone surrogate); give it whole.")
    return text.encode()


def _section(text: str, title: str, today: date) -> str:
    """The text, under a heading of today's date and the title where it does not begin with a level-2 heading."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").strip("\n")
    try:
        page, _ = open_page(SourceText(encoded(text)))
    except UnreadableSource as error:
        raise InputError("invalid_argument", f"The text could not be read back ({error.reason}).") from error
    if faults := list(_faults(text, page)):
        raise InputError("invalid_argument", f"Nothing was written. {' '.join(faults)}", detail=faults)
    drafts = sections(page)
    if drafts and drafts[0].heading is not None:
        return text
    heading = " ".join(clean_text(f"{today.isoformat()} {title}").split())
    return f"## {heading}\n\n{text}"


def _faults(text: str, page: Page) -> Iterator[str]:
    """What would make a text more, or less, than entries of a log."""
    if not text.strip():
        yield "The text is blank."
    if page.first:
        yield "Front matter belongs to a whole file; name an entry by `<!-- memory:ID -->` right above its heading."
    if any(block.level == 1 for block in page.blocks):
        yield "A level-1 heading would stand above all later entries; begin the text with `## ` or without a heading."
    if leaves_open(text):
        yield "The text leaves a code fence or a comment open; close it first."
