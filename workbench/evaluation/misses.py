"""Confirmed evidence that did not come through, with the place where each piece was lost."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.case import Case, EvidenceRef
from workbench.core.resource import Status
from workbench.core.run import RunRecord, Trace
from workbench.core.wire import Wire
from workbench.evaluation.benchmark import Variant
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.explain import why
from workbench.evaluation.figures import CaseFigures, Report
from workbench.evaluation.runs import RunHistory
from workbench.storage.corpus_table import CorpusEntry


class Miss(Wire):
    """One piece of evidence that no fragment holds. reason, sentence: as `explain.why` gives them."""

    case_id: str
    run_id: str
    query: str
    resource_id: str
    unit_key: str | None
    reason: str
    sentence: str


def worst_misses(report: Report, book: CaseBook, history: RunHistory, limit: int = 20) -> tuple[Miss, ...]:
    """The evidence that is in no fragment, of the cases with the lowest nDCG@10 of `b3_hybrid_rrf` first.

    Looks at the recorded runs, so it is about the report of the store and not about a replay.
    """
    found: list[Miss] = []
    for row in sorted((one for one in report.rows if one.survival < 1), key=_how_bad):
        record = history.get(row.run_id)
        found.extend(_misses(book.get(row.case_id), record, history.corpus(record)))
        if len(found) >= limit:
            break
    return tuple(found[:limit])


def _how_bad(row: CaseFigures) -> tuple[float, float]:
    return row.figures[Variant.RRF]["ndcg@10"], row.survival


def _misses(case: Case, record: RunRecord, corpus: Sequence[CorpusEntry]) -> list[Miss]:
    kept = {name for one in record.fragments for name in ((one.resource_id, one.unit_key), (one.resource_id, None))}
    misses = []
    for one in case.evidence:
        if (one.resource_id, one.unit_key) not in kept:
            answer = why(_only(record, one), one.resource_id, corpus, lambda _: Status.CURRENT)
            misses.append(
                Miss(
                    case_id=case.case_id,
                    run_id=case.run_id,
                    query=case.query,
                    resource_id=one.resource_id,
                    unit_key=one.unit_key,
                    reason=answer.reason,
                    sentence=answer.sentence,
                )
            )
    return misses


def _only(record: RunRecord, evidence: EvidenceRef) -> RunRecord:
    """The record as far as it is about this evidence: of a unit, its other units do not answer for it."""
    if evidence.unit_key is None:
        return record
    trace = Trace(
        candidates=tuple(one for one in record.trace.candidates if one.unit_key == evidence.unit_key),
        fused_out=tuple(one for one in record.trace.fused_out if one.unit_key == evidence.unit_key),
    )
    return record.model_copy(update={"trace": trace})
