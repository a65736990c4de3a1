"""Every limit of the engine: default, hard cap, unit and relation in one place.

`resolve_limits` is the only way to a `Limits`; the table in `docs/reference.md` is generated from `LIMIT_FIELDS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from workbench.core.errors import InputError


@dataclass(frozen=True, slots=True)
class LimitField:
    """One limit: its default, the least and the greatest value allowed, its unit and what it bounds."""

    default: int
    least: int
    cap: int
    unit: str
    bounds: str


LIMIT_FIELDS: dict[str, LimitField] = {
    "arm_width": LimitField(60, 1, 1_000, "candidates", "hits that each recall arm returns"),
    "rrf_k": LimitField(60, 1, 1_000, "ranks", "the constant of reciprocal rank fusion (Cormack et al. 2009)"),
    "fused_keep": LimitField(40, 1, 1_000, "candidates", "candidates kept after fusion"),
    "rerank_window": LimitField(24, 0, 32, "candidates", "candidates that the cross-encoder scores"),
    "fragments": LimitField(12, 1, 64, "fragments", "fragments in one result"),
    "per_resource": LimitField(2, 1, 64, "fragments", "fragments of one resource in one result"),
    "budget_tokens": LimitField(2_400, 1, 32_000, "tokens", "text of all fragments of one result"),
    "query_chars": LimitField(4_096, 1, 4_096, "characters", "one query after trimming"),
    "query_terms": LimitField(64, 1, 64, "terms", "distinct terms that reach the lexical arm, the rarest first"),
    "cjk_windows": LimitField(32, 1, 32, "windows", "three-character windows of one query in the contract arm"),
    "deadline_ms": LimitField(60_000, 1, 60_000, "milliseconds", "one whole activation"),
    "concurrency": LimitField(4, 1, 64, "calls", "calls that the service runs at once; others wait for a slot"),
    "debounce_ms": LimitField(200, 0, 60_000, "milliseconds", "quiet after the last change until a build starts"),
    "max_wait_ms": LimitField(1_000, 1, 600_000, "milliseconds", "from the first change until a build starts"),
    "build_timeout_ms": LimitField(21_600_000, 1_000, 86_400_000, "milliseconds", "one scheduled build"),
    "retained_runs": LimitField(500, 1, 100_000, "runs", "unpinned runs kept for one project"),
    "source_bytes": LimitField(4 * 1024 * 1024, 1, 64 * 1024 * 1024, "bytes", "one source file"),
    "fixture_bytes": LimitField(
        128 * 1024 * 1024, 1, 1024 * 1024 * 1024, "bytes", "one evaluation set that is imported"
    ),
    "state_units": LimitField(96, 1, 512, "units", "units that one activation state remembers"),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one activation or build. Made by `resolve_limits` only."""

    arm_width: int
    rrf_k: int
    fused_keep: int
    rerank_window: int
    fragments: int
    per_resource: int
    budget_tokens: int
    query_chars: int
    query_terms: int
    cjk_windows: int
    deadline_ms: int
    concurrency: int
    debounce_ms: int
    max_wait_ms: int
    build_timeout_ms: int
    retained_runs: int
    source_bytes: int
    fixture_bytes: int
    state_units: int


def resolve_limits(overrides: Mapping[str, int] | None = None) -> Limits:
    """Defaults with `overrides` laid over them.

    Raises: `InputError("limits_invalid")` with every finding at once: unknown names, values outside their range,
    and relations that do not hold (a rerank window wider than what fusion keeps; more fragments than a state holds).
    """
    given = dict(overrides or {})
    findings = [f"{name}: no such limit" for name in given if name not in LIMIT_FIELDS]
    values = {name: given.get(name, field.default) for name, field in LIMIT_FIELDS.items()}
    for name, value in values.items():
        field = LIMIT_FIELDS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not field.least <= value <= field.cap:
            findings.append(f"{name}: {value!r} is outside {field.least} to {field.cap} {field.unit}")
    if not findings:
        findings = _broken_relations(values)
    if findings:
        raise InputError("limits_invalid", f"Correct these limits: {'; '.join(findings)}.", detail=findings)
    return Limits(**values)


def _broken_relations(values: Mapping[str, int]) -> list[str]:
    broken = []
    if values["rerank_window"] > values["fused_keep"]:
        broken.append("rerank_window is wider than fused_keep")
    if values["fragments"] > values["state_units"]:
        broken.append("fragments is more than state_units")
    return broken


assert tuple(LIMIT_FIELDS) == tuple(field.name for field in fields(Limits))
