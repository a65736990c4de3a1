"""What the four orders are worth on confirmed cases: figures a case, means with intervals, paired tests.

The same runs in any order, with the same seed, give the same report; ids, times and the machine change no figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench import __version__
from workbench.core.errors import InputError
from workbench.core.hashing import digest
from workbench.core.progress import Progress, no_progress
from workbench.core.text import counted
from workbench.core.tokens import TOKEN_COUNTER
from workbench.core.unit import CHUNKER_VERSION
from workbench.evaluation.benchmark import Variant, measured_variants, variant_order
from workbench.evaluation.figures import CaseFigures, Interval, Note, PairedTest, Report, VariantFigures
from workbench.evaluation.hits import BESIDE, OrderFigures, order_figures, survival
from workbench.evaluation.judged import JudgedRun
from workbench.evaluation.metrics import DEPTH, METRICS, MISS, score_places
from workbench.evaluation.statistics import PERMUTATIONS, RESAMPLES, Name, mean_intervals, paired_p

if TYPE_CHECKING:
    from workbench.evaluation.statistics import Values

SURVIVAL = ("fragments", "survival")
FAMILY = f"{', '.join(METRICS)} of every pair of orders"
FEW_CASES = 20


class _Case(NamedTuple):
    """What is kept of a run. The first four fields put the rows of a report in order, whatever the ids are.

    orders: one for each variant; shown: the other fields of `CaseFigures`.
    """

    query: str
    identity: str
    orders: tuple[OrderFigures, ...]
    survival: float
    measured: frozenset[Variant]
    engine: str
    shown: dict[str, Any]


def build_report(
    runs: Iterable[JudgedRun],
    *,
    origin: str,
    seed: int = 0,
    not_ready: int = 0,
    progress: Progress = no_progress,
) -> Report:
    """The report of these runs, each read once.

    origin: where the cases come from, for people. not_ready: how many chosen cases are not among them. progress: phase
    `score` in orders, then `intervals` and `tests` in draws. Raises: `InputError("case_not_found")` when there is no
    run at all.
    """
    cases = sorted(_read(runs), key=lambda case: case[:4])
    if not cases:
        raise InputError("case_not_found", f"{origin}: no case is ready. Confirm evidence of one, or import a set.")
    measured = _measured(cases)
    columns = _columns(cases, measured, progress)
    pairs = [(first, second, metric) for first, second in combinations(measured, 2) for metric in METRICS]
    differences: dict[Name, Values] = {
        (one, two, metric): columns[two, metric] - columns[one, metric] for one, two, metric in pairs
    }
    means = mean_intervals({**columns, **differences}, seed, progress)
    latencies = sorted(case.shown["latency_us"] for case in cases if case.shown["latency_us"] is not None)
    return Report(
        origin=origin,
        set_digest=digest(sorted(case.identity for case in cases)),
        cases=len(cases),
        versions=_versions(),
        engines=dict(sorted(Counter(case.engine for case in cases).items())),
        seed=seed,
        resamples=RESAMPLES,
        permutations=PERMUTATIONS,
        family=FAMILY,
        variants=tuple(_variant(cases, variant, means) for variant in measured),
        survival=means[SURVIVAL],
        tests=tuple(
            PairedTest(
                metric=metric,
                first=Variant(one),
                second=Variant(two),
                difference=means[one, two, metric],
                p=p,
                p_holm=p_holm,
            )
            for (one, two, metric), (p, p_holm) in paired_p(differences, seed, progress).items()
        ),
        trace_p50_us=_nearest_rank(latencies, 50),
        trace_p95_us=_nearest_rank(latencies, 95),
        notes=tuple(_notes(cases, not_ready)),
        rows=tuple(_rows(cases, measured, columns)),
    )


def _read(runs: Iterable[JudgedRun]) -> Iterator[_Case]:
    corpus: Mapping[str, str] | None = None
    corpus_digest = ""
    for run in runs:
        if run.corpus is not corpus:
            corpus, corpus_digest = run.corpus, digest(sorted(run.corpus.items()))
        evidence = sorted([one.resource_id, one.unit_key or ""] for one in run.evidence)
        yield _Case(
            query=run.query,
            identity=digest([run.query, evidence, corpus_digest]),
            orders=tuple(
                order_figures(variant_order(run.ranked, variant), run.evidence, run.corpus) for variant in Variant
            ),
            survival=survival(run.evidence, run.fragments),
            measured=measured_variants(run.ranked),
            engine=run.engine or "none",
            shown={
                "case_id": run.case_id,
                "run_id": run.run_id,
                "project_id": run.project_id,
                "evidence": len(run.evidence),
                "candidates": sum(unit.rrf_rank is not None for unit in run.ranked),
                "resources": len(run.corpus),
                "latency_us": run.latency_us,
            },
        )


def _measured(cases: Sequence[_Case]) -> tuple[Variant, ...]:
    """The orders whose stage worked for some case."""
    worked = frozenset[Variant]().union(*(case.measured for case in cases))
    return tuple(variant for variant in Variant if variant in worked)


def _columns(cases: Sequence[_Case], measured: Sequence[Variant], progress: Progress) -> dict[Name, Values]:
    """(order, metric) -> the value of every case, in the order of the cases."""
    import numpy as np

    columns: dict[Name, Values] = {SURVIVAL: np.array([case.survival for case in cases])}
    evidence = [case.shown["evidence"] for case in cases]
    for done, variant in enumerate(measured, start=1):
        orders = [case.orders[_NUMBER[variant]] for case in cases]
        scores = score_places(evidence, [order.places for order in orders])
        columns |= {(variant, metric): scores[metric] for metric in METRICS}
        columns |= {
            (variant, name): np.array(one)
            for name, one in zip(BESIDE, zip(*(o.beside for o in orders), strict=True), strict=True)
        }
        progress("score", done, len(measured))
    return columns


def _variant(cases: Sequence[_Case], variant: Variant, means: Mapping[Name, Interval]) -> VariantFigures:
    orders = [case.orders[_NUMBER[variant]] for case in cases]
    return VariantFigures(
        variant=variant,
        means={metric: means[variant, metric] for metric in (*METRICS, *BESIDE)},
        scope_violations=sum(order.scope_violations for order in orders),
        stale_results=sum(order.stale_results for order in orders),
    )


def _rows(cases: Sequence[_Case], measured: Sequence[Variant], columns: Mapping[Name, Values]) -> Iterator[CaseFigures]:
    values = {name: column.tolist() for name, column in columns.items()}
    for number, case in enumerate(cases):
        yield CaseFigures(
            query=case.query,
            identity=case.identity,
            survival=case.survival,
            figures={
                variant: {metric: values[variant, metric][number] for metric in (*METRICS, *BESIDE)}
                for variant in measured
            },
            hits={variant: _hits(case.orders[_NUMBER[variant]]) for variant in measured},
            **case.shown,
        )


def _hits(order: OrderFigures) -> tuple[int, ...]:
    return tuple(place for place, met in enumerate(order.places, start=1) if met != MISS)


def _notes(cases: Sequence[_Case], not_ready: int) -> Iterator[Note]:
    """What stands between a figure and its meaning."""
    total = len(cases)
    stages = (
        (Variant.DENSE, "dense rank", "score 0"),
        (Variant.RERANKED, "rerank rank", "count in their RRF order"),
    )
    for variant, rank, otherwise in stages:
        count = sum(variant in case.measured for case in cases)
        if count == 0:
            yield Note(code="not_measured", detail=f"{variant}: no candidate of any case has a {rank}.")
        elif count < total:
            detail = f"{variant}: {total - count} of {total} cases have no {rank}; they {otherwise}."
            yield Note(code="partly_measured", detail=detail)
    small = sum(case.shown["resources"] <= DEPTH for case in cases)
    if small:
        detail = (
            f"The corpus of {small} of {total} cases has at most {DEPTH} resources: Recall@{DEPTH} says little there."
        )
        yield Note(code="k_covers_corpus", detail=detail)
    if not_ready:
        yield Note(code="not_ready", detail=f"{not_ready} chosen cases have no confirmed evidence and are left out.")
    if total < FEW_CASES:
        yield Note(code="few_cases", detail=f"Only {counted(total, 'case')}: the intervals are too narrow.")
    if len({case.engine for case in cases}) > 1:
        yield Note(code="several_engines", detail="The runs were answered by different embedding engines.")


def _versions() -> dict[str, str]:
    return {
        "workbench": __version__,
        "ranx": version("ranx"),
        "token_counter": TOKEN_COUNTER,
        "chunker": str(CHUNKER_VERSION),
    }


def _nearest_rank(ordered: Sequence[int], percent: int) -> int | None:
    """The smallest value that at least so many percent of the values do not exceed."""
    return ordered[ceil(percent * len(ordered) / 100) - 1] if ordered else None


_NUMBER = {variant: number for number, variant in enumerate(Variant)}
