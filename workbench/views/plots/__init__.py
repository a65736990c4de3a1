"""The pictures of all notebooks: rank movement, recall curves, differences case by case, budgets, latency by stage.

Every function takes values and returns a matplotlib figure that says in words, too, what it shows; `picture` and
`saved` make a PNG of one. Text of a memory is drawn as it is.
"""

from workbench.views.plots.look import picture, saved
from workbench.views.plots.reports import (
    case_differences,
    change_by_case,
    latency,
    order_means,
    recall_curve,
    setting_means,
)
from workbench.views.plots.runs import budget_bars, rank_movement, stage_times

__all__ = [
    "budget_bars",
    "case_differences",
    "change_by_case",
    "latency",
    "order_means",
    "picture",
    "rank_movement",
    "recall_curve",
    "saved",
    "setting_means",
    "stage_times",
]
