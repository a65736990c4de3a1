"""What a set's judgements point to, as evidence of a case: whole resources, or the units of their frozen bodies.

A range becomes the unit that holds it. Where two overlapping units do, it is the one in which it lies deeper; where it
crosses a border and none does, the one that holds most of it. Where no unit holds any of it, the resource counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from workbench.core.case import EvidenceRef
from workbench.core.text import clean_text
from workbench.core.unit import DESCRIPTION_PART, Unit
from workbench.evaluation.frozen import FrozenResource
from workbench.evaluation.importers.parsed import Document, Findings, Question, Target
from workbench.markdown.frozen import cut_frozen

_CARRIAGE_RETURN = re.compile("\r\n?")


class Frozen(Protocol):
    """A frozen corpus, as far as it is read here."""

    def __contains__(self, resource_id: str) -> bool: ...
    def read(self, resource_id: str) -> FrozenResource: ...


class _Cut(NamedTuple):
    body: str
    units: tuple[Unit, ...]


class EvidenceFinder:
    """Finds the evidence of the questions of one scope; a body is cut once.

    documents: those of the scope, by id. resources: document id -> resource id.
    """

    def __init__(self, documents: Mapping[str, Document], resources: Mapping[str, str], findings: Findings) -> None:
        self._documents, self._resources, self._findings = documents, resources, findings
        self._cuts: dict[tuple[str, str], _Cut] = {}

    def refs(self, question: Question, corpus: Frozen) -> tuple[EvidenceRef, ...]:
        """The distinct evidence of a question, in the order of its targets; targets without a resource are left out.

        So are, with a finding, those that came into the memory after this corpus was frozen.
        """
        targets = [target for target in question.evidence if target.document_id in self._resources]
        frozen = [target for target in targets if self._resources[target.document_id] in corpus]
        for target in targets:
            if target not in frozen:
                self._findings.add(
                    f"question {question.query_id!r}",
                    f"its evidence {target.document_id!r} is not in the corpus that its case froze",
                )
        return tuple(dict.fromkeys(self._ref(question, target, corpus) for target in frozen))

    def knows(self, question: Question) -> bool:
        """Whether it can be judged: it expects nothing, or a resource stands for one of its targets at least."""
        for target in question.evidence:
            if target.document_id not in self._resources:
                self._findings.add(
                    f"question {question.query_id!r}", f"its evidence {target.document_id!r} is not here"
                )
        known = [target for target in question.evidence if target.document_id in self._resources]
        return bool(known) or not question.evidence

    def _ref(self, question: Question, target: Target, corpus: Frozen) -> EvidenceRef:
        resource_id = self._resources[target.document_id]
        if target.span is None and target.headings is None:
            return EvidenceRef(resource_id=resource_id)
        cut = self._cut(resource_id, corpus)
        unit = self._at_span(target, cut) if target.span else _under_headings(target.headings or "", cut.units)
        if unit is None:
            wanted = f"characters {target.span[0]} to {target.span[1]}" if target.span else repr(target.headings)
            self._findings.add(
                f"question {question.query_id!r}",
                f"no one unit of {target.document_id!r} has {wanted}; all of it counts",
            )
        return EvidenceRef(resource_id=resource_id, unit_key=unit and unit.unit_key)

    def _cut(self, resource_id: str, corpus: Frozen) -> _Cut:
        frozen = corpus.read(resource_id)
        key = (resource_id, frozen.entry.resource_hash)
        if key not in self._cuts:
            units = cut_frozen(resource_id, frozen.entry.layer, frozen.description, frozen.body)
            self._cuts[key] = _Cut(frozen.body, tuple(unit for unit in units if unit.part != DESCRIPTION_PART))
        return self._cuts[key]

    def _at_span(self, target: Target, cut: _Cut) -> Unit | None:
        assert target.span is not None
        start, end = (_place(self._documents[target.document_id].text, at, cut.body) for at in target.span)
        if not cut.body or end <= max(start, 0):
            return None
        first, last = len(cut.body[: max(start, 0)].encode()), len(cut.body[:end].encode())
        held = max(cut.units, key=lambda unit: _grip(unit, first, last), default=None)
        return held if held and _grip(held, first, last)[0] > 0 else None


def _place(text: str, at: int, body: str) -> int:
    """Where a place of a document's text is in the body: the body is the text without what opens and closes it."""
    return len(_clean(text[:at])) - (len(_clean(text).rstrip()) - len(body))


def _clean(text: str) -> str:
    return clean_text(_CARRIAGE_RETURN.sub("\n", text))


def _grip(unit: Unit, first: int, last: int) -> tuple[int, int]:
    """How many bytes of the range the unit holds, and how far its nearer border is from the range."""
    inside = min(last, unit.span.byte_end) - max(first, unit.span.byte_start)
    return inside, min(first - unit.span.byte_start, unit.span.byte_end - last)


def _under_headings(headings: str, units: tuple[Unit, ...]) -> Unit | None:
    """The one unit whose headings end in these; None when none or several do."""
    tail = f" / {headings}"
    found = [unit for unit in units if f" / {' / '.join(unit.heading_path)}".endswith(tail)]
    return found[0] if len(found) == 1 else None
