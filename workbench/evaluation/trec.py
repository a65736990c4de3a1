"""Judged runs as TREC files: one run file for each order and one file of qrels, for other tools.

The ids are those that the report counts by: a place at which evidence is met has the evidence's id, any other the
unit's. trec_eval needs `-c`, so that a query without results counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from workbench.core.case import EvidenceRef
from workbench.evaluation.benchmark import Variant, measured_variants, variant_order
from workbench.evaluation.hits import met_evidence
from workbench.evaluation.judged import JudgedRun, RankedUnit

QRELS_FILE = "qrels.txt"


def trec_files(runs: Iterable[JudgedRun]) -> dict[str, str]:
    """File name -> text: `qrels.txt`, and `VARIANT.run` for every measured order. A query is called by its case id."""
    lines: dict[str, list[str]] = {QRELS_FILE: [], **{f"{variant}.run": [] for variant in Variant}}
    measured = set[Variant]()
    for run in runs:
        measured |= measured_variants(run.ranked)
        lines[QRELS_FILE] += [f"{run.case_id} 0 {_id(one)} 1" for one in run.evidence]
        for variant in Variant:
            ids = list(_ranked_ids(variant_order(run.ranked, variant), run.evidence))
            lines[f"{variant}.run"] += [
                f"{run.case_id} Q0 {one} {place} {len(ids) - place + 1} {variant}" for place, one in enumerate(ids, 1)
            ]
    for variant in set(Variant) - measured:
        del lines[f"{variant}.run"]
    return {name: "".join(f"{line}\n" for line in text) for name, text in lines.items()}


def _ranked_ids(units: Sequence[RankedUnit], evidence: Sequence[EvidenceRef]) -> Iterator[str]:
    for unit, met in zip(units, met_evidence(units, evidence), strict=True):
        yield from [_id(evidence[number]) for number in met] or [_id(unit)]


def _id(one: EvidenceRef | RankedUnit) -> str:
    """A unit's key or a resource's id without white space: what is not plain ASCII is percent-encoded."""
    return quote(one.unit_key or one.resource_id, safe="/#~@:.,+()[]{}'!$&*=;")
