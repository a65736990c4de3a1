"""What the front end is told: the state as plain values, only as much of it as is visible. Pure; text stays text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.candidate import Candidate
from workbench.core.case import EvidenceRef
from workbench.core.terms import QueryTerm, query_terms
from workbench.views.labeling.passages import Passage, pieces
from workbench.views.labeling.queue import Order, Row, Standing, shown_rows, standing, standings
from workbench.views.labeling.state import LabelingState, Marks

QUEUE_ROWS = 60
"""How many rows of the queue are told at once, around the run on the table."""
View = dict[str, dict[str, Any]]


def render(state: LabelingState, passage: Passage | None) -> View:
    """The whole view in its parts; a part that did not change need not be sent again."""
    terms = tuple(query_terms(state.search.text if state.search else _query(state, state.run_id)))
    return {
        "head": _head(state),
        "queue": _queue(state),
        "cards": _cards(state, terms),
        "text": _text(passage, terms),
    }


def _head(state: LabelingState) -> dict[str, Any]:
    sheet, draft = state.sheet, state.draft
    standing_of = {row.run_id: row for row in state.rows}
    row = standing_of.get(state.run_id)
    return {
        "run": state.run_id,
        "query": _query(state, state.run_id),
        "standing": standing(row, state.drafts) if row else "",
        "version": sheet.stored.version if sheet else 0,
        "unsaved": draft.unsaved,
        "changed": sheet is not None and draft.marks is not None and draft.marks != sheet.stored.evidence,
        "marks": [_mark(one) for one in state.marks],
        "note": draft.note,
        "cursor": state.cursor,
        "order": state.order,
        "search": state.search.text if state.search else None,
        "unreadable": len(state.search.unreadable) if state.search else 0,
        "message": state.message,
        "conflict": _conflict(state),
        "can_undo": bool(state.past),
        "progress": _progress(state),
        "filter": {
            "standing": state.filter.standing or "",
            "project": state.filter.project,
            "zero_hits": state.filter.zero_hits,
            "disagreeing": state.filter.disagreeing,
        },
        "projects": sorted({one.project_id for one in state.rows}),
    }


def _progress(state: LabelingState) -> dict[str, Any]:
    """seconds: a case, over the decided ones that time was counted for; None without any."""
    counts = standings(state.rows, state.drafts)
    timed = [
        draft.seconds
        for row in state.rows
        if (draft := state.drafts.get(row.run_id)) and draft.seconds and _is_decided(state, row)
    ]
    return {
        **{str(one): count for one, count in counts.items()},
        "total": len(state.rows),
        "unsaved": sum(draft.unsaved for draft in state.drafts.values()),
        "seconds": sum(timed) / len(timed) if timed else None,
    }


def _is_decided(state: LabelingState, row: Row) -> bool:
    return standing(row, state.drafts) in (Standing.READY, Standing.NEEDS_EVIDENCE)


def _queue(state: LabelingState) -> dict[str, Any]:
    shown = shown_rows(state.rows, state.filter, state.drafts)
    here = next((place for place, row in enumerate(shown) if row.run_id == state.run_id), 0)
    first = max(0, min(here - QUEUE_ROWS // 3, len(shown) - QUEUE_ROWS))
    return {
        "total": len(shown),
        "first": first,
        "rows": [_row(state, row) for row in shown[first : first + QUEUE_ROWS]],
    }


def _row(state: LabelingState, row: Row) -> dict[str, Any]:
    draft = state.drafts.get(row.run_id)
    return {
        "run": row.run_id,
        "query": row.query,
        "standing": standing(row, state.drafts),
        "candidates": row.candidates,
        "disagreement": row.disagreement,
        "unsaved": draft is not None and draft.unsaved,
        "noted": draft is not None and bool(draft.note),
    }


def _cards(state: LabelingState, terms: tuple[QueryTerm, ...]) -> dict[str, Any]:
    if state.search is not None:
        return {
            "kind": "hits",
            "cards": [
                {
                    "resource_id": hit.resource_id,
                    "path": hit.path,
                    "heading": hit.title,
                    "excerpt": pieces(hit.snippet, terms),
                }
                for hit in state.search.hits
            ],
        }
    return {"kind": "candidates", "cards": [_card(one, state.order, terms) for one in state.candidates]}


def _card(one: Candidate, order: Order, terms: tuple[QueryTerm, ...]) -> dict[str, Any]:
    card = {
        "resource_id": one.resource_id,
        "unit_key": one.unit_key,
        "path": one.path,
        "heading": " › ".join(one.heading_path),
        "excerpt": pieces(one.excerpt, terms),
    }
    if order is Order.BLIND:
        return card
    return card | {
        "rank": one.final_rank,
        "stages": [
            ["exact", one.exact_rank, None],
            ["bm25", one.bm25_rank, one.bm25_score],
            ["vector", one.vector_rank, one.vector_score],
            ["rrf", one.rrf_rank, one.rrf_score],
            ["rerank", one.rerank_rank, one.rerank_score],
        ],
        "outcome": one.exclusion_reason or one.disposition,
    }


def _text(passage: Passage | None, terms: tuple[QueryTerm, ...]) -> dict[str, Any]:
    if passage is None:
        return {}
    parts: Mapping[str, str] = {name: getattr(passage, name) for name in ("description", "before", "unit", "after")}
    return {
        "resource_id": passage.resource_id,
        "path": passage.path,
        "title": passage.title,
        "cut_before": passage.cut_before,
        "cut_after": passage.cut_after,
        "missing": passage.missing,
        **{name: pieces(text, terms) for name, text in parts.items()},
    }


def _conflict(state: LabelingState) -> dict[str, Any] | None:
    if state.conflict is None:
        return None
    wanted, theirs = state.conflict.wanted, state.conflict.theirs
    return {
        "run": wanted.run_id,
        "query": _query(state, wanted.run_id),
        "mine": _said(wanted.decision),
        "theirs": _said(theirs.decision),
        "version": theirs.version,
        "expected": wanted.expected,
    }


def _said(decision: Marks | None) -> dict[str, Any]:
    if decision is None:
        return {"kind": "no decision", "marks": []}
    return {"kind": "evidence" if decision else "none matched", "marks": [_mark(one) for one in decision]}


def _mark(one: EvidenceRef) -> dict[str, Any]:
    return {"resource_id": one.resource_id, "unit_key": one.unit_key}


def _query(state: LabelingState, run_id: str) -> str:
    return next((row.query for row in state.rows if row.run_id == run_id), "")
