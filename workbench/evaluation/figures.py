"""The wire values of a report and of a comparison of two."""

from __future__ import annotations

from workbench.core.wire import Wire
from workbench.evaluation.benchmark import Variant

REPORT_VERSION = "evaluation-report-1"
CONFIDENCE = 0.95


class Interval(Wire):
    """A mean over all cases with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def text(self, sign: str = "") -> str:
        """`mean [low, high]` with three decimals. sign: `+` where it is a difference."""
        return f"{self.mean:{sign}.3f} [{self.low:{sign}.3f}, {self.high:{sign}.3f}]"


class VariantFigures(Wire):
    """One order. means: metric -> mean; the counts are over the first 20 units of all cases."""

    variant: Variant
    means: dict[str, Interval]
    scope_violations: int
    stale_results: int


class PairedTest(Wire):
    """Two orders on the same cases. difference: second minus first; p_holm: p corrected over the report's family."""

    metric: str
    first: Variant
    second: Variant
    difference: Interval
    p: float
    p_holm: float


class CaseFigures(Wire):
    """One case. figures: order -> metric -> value; hits: order -> the places, from 1, at which evidence was met.

    identity: sha256 over query, evidence and frozen corpus. resources: how many the corpus holds.
    """

    case_id: str
    run_id: str
    project_id: str
    query: str
    identity: str
    evidence: int
    candidates: int
    resources: int
    latency_us: int | None
    survival: float
    figures: dict[Variant, dict[str, float]]
    hits: dict[Variant, tuple[int, ...]]


class Note(Wire):
    """What a reader has to know before believing a figure."""

    code: str
    detail: str


class Percentiles(Wire):
    """The time, in microseconds, within which half and 95 % of the answers were there."""

    p50_us: int
    p95_us: int


class WarmLatency(Wire):
    """Counted are cases × repeats answers; a first round over each corpus warms up and is not counted.

    corpora: frozen corpora; resources: of the smallest and of the largest one. engine: None without one; reranked:
    whether a cross-encoder was asked. whole: from request to answer, without the history; stages: parts of it.
    """

    repeats: int
    cases: int
    corpora: int
    resources: tuple[int, int]
    engine: str | None
    reranked: bool
    whole: Percentiles
    stages: dict[str, Percentiles]


class Report(Wire):
    """The benchmark of ready cases; rows by query.

    set_digest: sha256 over the cases' identities. engines: engine -> cases. variants: the measured orders; a note says
    which is not, and why. tests: two-sided paired randomisation, corrected by Holm over `family`. trace_p50_us,
    trace_p95_us: over the latencies that the runs recorded, whatever the machine was doing. warm: an isolated, repeated
    measurement; null unless asked for.
    """

    report_version: str = REPORT_VERSION
    origin: str
    set_digest: str
    cases: int
    versions: dict[str, str]
    engines: dict[str, int]
    seed: int
    resamples: int
    permutations: int
    family: str
    variants: tuple[VariantFigures, ...]
    survival: Interval
    tests: tuple[PairedTest, ...]
    trace_p50_us: int | None
    trace_p95_us: int | None
    warm: WarmLatency | None = None
    notes: tuple[Note, ...]
    rows: tuple[CaseFigures, ...]


class Change(Wire):
    """One figure before and after on the same cases. order: a variant, or `fragments` for survival.

    difference: after minus before; better, worse: cases whose value rose or fell.
    """

    order: str
    metric: str
    before: float
    after: float
    difference: Interval
    better: int
    worse: int
    p: float
    p_holm: float


class Comparison(Wire):
    """Two reports of one set, case by case. notes: orders that only one of them measured."""

    before: str
    after: str
    set_digest: str
    cases: int
    seed: int
    family: str
    changes: tuple[Change, ...]
    notes: tuple[Note, ...]
