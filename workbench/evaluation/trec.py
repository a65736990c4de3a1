"""Judged runs as TREC files: one run file for each order and one file of qrels, for other tools.

The ids are those that the report counts by: a place at which evidence is met has the evidence's id, any other the
unit's. trec_eval needs `-c`, so that a query without results counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from workbench.core.case import EvidenceRef
from workbench.evaluation.benchmark import Variant, variant_order
from workbench.evaluation.judged import JudgedRun, RankedUnit

QRELS_FILE = "qrels.txt"
_STAGES = ((Variant.DENSE, "vector_rank"), (Variant.RERANKED, "rerank_rank"))
"""The orders whose stage need not have worked, by the rank that it gives."""


def trec_files(runs: Iterable[JudgedRun]) -> dict[str, str]:
    """File name -> text: `qrels.txt`, and `VARIANT.run` for every measured order. A query is called by its case id."""
    lines: dict[str, list[str]] = {QRELS_FILE: [], **{f"{variant}.run": [] for variant in Variant}}
    worked = {Variant.BM25, Variant.RRF}
    for run in runs:
        worked.update(variant for variant, rank in _STAGES if any(getattr(unit, rank) for unit in run.ranked))
        lines[QRELS_FILE] += [f"{run.case_id} 0 {_id(one.resource_id, one.unit_key)} 1" for one in run.evidence]
        for variant in Variant:
            ids = list(_ranked_ids(variant_order(run.ranked, variant), run.evidence))
            lines[f"{variant}.run"] += [
                f"{run.case_id} Q0 {one} {place} {len(ids) - place + 1} {variant}" for place, one in enumerate(ids, 1)
            ]
    for variant in set(Variant) - worked:
        del lines[f"{variant}.run"]
    return {name: "".join(f"{line}\n" for line in text) for name, text in lines.items()}


def _ranked_ids(units: Sequence[RankedUnit], evidence: Sequence[EvidenceRef]) -> Iterator[str]:
    waiting = {(one.resource_id, one.unit_key) for one in evidence}
    for unit in units:
        names = ((unit.resource_id, unit.unit_key), (unit.resource_id, None))
        met = [name for name in names if name in waiting] or [names[0]]
        waiting.difference_update(met)
        yield from (_id(*name) for name in met)


def _id(resource_id: str, unit_key: str | None) -> str:
    """A unit's key or a resource's id without white space: what is not plain ASCII is percent-encoded."""
    return quote(unit_key or resource_id, safe="/#~@:.,+()[]{}'!$&*=;")
