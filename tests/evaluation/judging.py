"""Judged runs as a report takes them, made by hand or drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from workbench.core.case import EvidenceRef
from workbench.evaluation.judged import JudgedRun, RankedUnit

CORPUS = {f"r{number}": f"hash {number}" for number in range(1, 31)}


def unit(resource: int, part: int = 0, resource_hash: str | None = "", **ranks: int) -> RankedUnit:
    """Unit `uN.P` of resource `rN`, with the hash of `CORPUS` unless another is said."""
    known = CORPUS.get(f"r{resource}", "unknown") if resource_hash == "" else resource_hash
    return RankedUnit(f"u{resource}.{part}", f"r{resource}", known, **ranks)


def whole(resource: int) -> EvidenceRef:
    return EvidenceRef(resource_id=f"r{resource}")


def part(resource: int, number: int = 0) -> EvidenceRef:
    return EvidenceRef(resource_id=f"r{resource}", unit_key=f"u{resource}.{number}")


def judged(
    *ranked: RankedUnit,
    evidence: Sequence[EvidenceRef] = (whole(1),),
    query: str = "how are hits fused",
    corpus: Mapping[str, str] = CORPUS,
    **more: Any,
) -> JudgedRun:
    """One run; its ids follow the query unless they are said."""
    values = {"case_id": f"case of {query}", "run_id": f"run of {query}", "project_id": "notes", "latency_us": 1_000}
    kept = tuple((one.unit_key, one.resource_id) for one in ranked if one.rrf_rank is not None)
    return JudgedRun(
        query=query, evidence=tuple(evidence), ranked=ranked, corpus=corpus, **{"fragments": kept[:2], **values, **more}
    )


def fused(*resources: int) -> tuple[RankedUnit, ...]:
    """First units of these resources in this order, the same in every stage but rerank."""
    return tuple(unit(one, bm25_rank=n, vector_rank=n, rrf_rank=n) for n, one in enumerate(resources, start=1))


_names = st.tuples(st.integers(1, 12), st.integers(0, 2))


@st.composite
def runs(draw: st.DrawFn, query: str = "drawn") -> JudgedRun:
    """Any run: units of up to 12 resources, evidence of both kinds, met or not."""
    order = draw(st.lists(_names, unique=True, max_size=30))
    units = tuple(unit(*one, bm25_rank=n, vector_rank=n, rrf_rank=n) for n, one in enumerate(order, start=1))
    refs = draw(st.lists(st.builds(whole, st.integers(1, 14)) | st.builds(lambda one: part(*one), _names), min_size=1))
    unique = {(one.resource_id, one.unit_key): one for one in refs}
    return judged(*units, evidence=tuple(unique.values()), query=query)
