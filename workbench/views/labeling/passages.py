"""The text that a person reads: a unit in its frozen resource, cut where it stands, its matches found. Never HTML.

What was read and cut is kept for a while: neighbouring candidates are often of one resource.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from workbench.core.case import EvidenceRef
from workbench.core.terms import QueryTerm, term_spans
from workbench.core.unit import DESCRIPTION_PART, Unit
from workbench.evaluation.frozen import FrozenCorpus, FrozenResource
from workbench.markdown.frozen import cut_frozen

KEPT = 64
AROUND_CHARS = 30_000
"""How much of a resource is shown on either side of what is read."""

Pieces = tuple[str, ...]
"""A text in pieces that by turns do not match and do."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A resource in parts. unit: what the cursor is on; missing: why there is none. cut_*: characters left out."""

    resource_id: str
    path: str
    title: str
    description: str = ""
    before: str = ""
    unit: str = ""
    after: str = ""
    cut_before: int = 0
    cut_after: int = 0
    missing: str = ""


@dataclass(frozen=True, slots=True)
class _Cut:
    resource: FrozenResource
    body: bytes
    units: dict[str, Unit]


class Passages:
    """Reads passages of frozen corpora."""

    def __init__(self) -> None:
        self._cuts: OrderedDict[tuple[str, str], _Cut] = OrderedDict()

    def read(self, corpus: FrozenCorpus, ref: EvidenceRef) -> Passage:
        """The passage of a unit, or of a whole resource.

        Raises: `KeyError` for a resource of another corpus; `StorageError("run_corpus_incomplete")`.
        """
        entry = corpus.entry(ref.resource_id)
        key = (entry.resource_id, entry.resource_hash)
        cut = self._cuts.get(key) or _cut(corpus.read(ref.resource_id))
        self._cuts[key] = cut
        self._cuts.move_to_end(key)
        if len(self._cuts) > KEPT:
            self._cuts.popitem(last=False)
        return _passage(cut, ref)


@lru_cache(maxsize=4 * KEPT)
def pieces(text: str, terms: tuple[QueryTerm, ...]) -> Pieces:
    """The text with its matches: the pieces joined are the text, and every second one is a match."""
    bounds = [0, *(bound for span in term_spans(text, terms) for bound in span), len(text)]
    return tuple(text[start:end] for start, end in pairwise(bounds))


def _cut(resource: FrozenResource) -> _Cut:
    entry = resource.entry
    units = cut_frozen(entry.resource_id, entry.layer, resource.description, resource.body)
    return _Cut(resource, resource.body.encode("utf-8"), {unit.unit_key: unit for unit in units})


def _passage(cut: _Cut, ref: EvidenceRef) -> Passage:
    resource, unit = cut.resource, cut.units.get(ref.unit_key or "")
    passage = Passage(ref.resource_id, resource.entry.path, resource.title)
    if unit is None or unit.part == DESCRIPTION_PART:
        body, left = resource.body[: 2 * AROUND_CHARS], max(0, len(resource.body) - 2 * AROUND_CHARS)
        if unit is not None:
            return replace(passage, unit=unit.text, after=body, cut_after=left)
        missing = "This unit is not found in the frozen text." if ref.unit_key else ""
        return replace(passage, description=resource.description, unit=body, cut_after=left, missing=missing)
    before = cut.body[: unit.span.byte_start].decode("utf-8")
    after = cut.body[unit.span.byte_end :].decode("utf-8")
    return replace(
        passage,
        description=resource.description,
        before=before[-AROUND_CHARS:],
        unit=unit.text,
        after=after[:AROUND_CHARS],
        cut_before=max(0, len(before) - AROUND_CHARS),
        cut_after=max(0, len(after) - AROUND_CHARS),
    )
