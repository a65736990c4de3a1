"""Two reports of the same cases, compared case by case: what changed, and how sure that is."""

from __future__ import annotations

from workbench.core.errors import InputError
from workbench.evaluation.figures import CaseFigures, Change, Comparison, Note, Report
from workbench.evaluation.metrics import METRICS
from workbench.evaluation.statistics import DIGITS, Name, mean_intervals, paired_p

FRAGMENTS = "fragments"
FAMILY = f"{', '.join(METRICS)} of every order, and survival"


def compare_reports(before: Report, after: Report, *, seed: int = 0) -> Comparison:
    """What `after` changed against `before`. Cases are paired by identity, equal ones by id.

    Raises: `InputError("invalid_argument")` when the two are not about the same queries, evidence and corpora.
    """
    import numpy as np

    if before.set_digest != after.set_digest:
        raise InputError(
            "invalid_argument",
            f"The reports are about different cases ({before.set_digest[:12]}, {after.set_digest[:12]}); "
            "compare reports of one selection.",
        )
    names = _names(before, after)
    old, new = (
        {name: np.array([_value(row, name) for row in _paired(one)]) for name in names} for one in (before, after)
    )
    differences = {name: new[name] - old[name] for name in names}
    intervals, p_values = mean_intervals(differences, seed), paired_p(differences, seed)
    return Comparison(
        before=before.origin,
        after=after.origin,
        set_digest=after.set_digest,
        cases=after.cases,
        seed=seed,
        family=FAMILY,
        changes=tuple(
            Change(
                order=name[0],
                metric=name[1],
                before=round(float(old[name].mean()), DIGITS),
                after=round(float(new[name].mean()), DIGITS),
                difference=intervals[name],
                better=int((differences[name] > 0).sum()),
                worse=int((differences[name] < 0).sum()),
                p=p_values[name][0],
                p_holm=p_values[name][1],
            )
            for name in names
        ),
        notes=_notes(before, after),
    )


def paired_rows(before: Report, after: Report) -> list[tuple[CaseFigures, CaseFigures]]:
    """The rows of two reports of the same cases, each case's beside each other."""
    return list(zip(_paired(before), _paired(after), strict=True))


def _names(before: Report, after: Report) -> list[Name]:
    measured = {one.variant for one in before.variants}
    shared = [one.variant for one in after.variants if one.variant in measured]
    return [(variant, metric) for variant in shared for metric in METRICS] + [(FRAGMENTS, "survival")]


def _value(row: CaseFigures, name: Name) -> float:
    order, metric = name
    return (
        row.survival if order == FRAGMENTS else {str(one): values for one, values in row.figures.items()}[order][metric]
    )


def _paired(report: Report) -> list[CaseFigures]:
    return sorted(report.rows, key=lambda row: (row.identity, row.case_id))


def _notes(before: Report, after: Report) -> tuple[Note, ...]:
    one_sided = {one.variant for one in before.variants} ^ {one.variant for one in after.variants}
    return tuple(
        Note(code="not_compared", detail=f"{variant} was measured in one of the two reports only.")
        for variant in sorted(one_sided)
    )
