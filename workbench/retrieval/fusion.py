"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). Pure; it sees ranks and never a score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

RRF_K = 60


class Fused(NamedTuple):
    """One id of a fused list. `score` is a sum of reciprocal ranks, no similarity; `best_rank` starts at 1."""

    key: str
    score: float
    best_rank: int


def fuse_ranked_lists(lists: Iterable[Sequence[str]], k: int = RRF_K) -> list[Fused]:
    """All ids of all lists by falling Σ 1 / (k + rank); ties by the better best rank, then by key.

    An id counts once per list, at its first place, and a repetition takes no place of its own. The order of the lists
    does not matter: each sum is rounded once (`fsum`). No lists, or empty ones, give an empty list.
    """
    ranks: dict[str, list[int]] = {}
    for ranked in lists:
        for rank, key in enumerate(dict.fromkeys(ranked), start=1):
            ranks.setdefault(key, []).append(rank)
    fused = [Fused(key, math.fsum(1 / (k + rank) for rank in found), min(found)) for key, found in ranks.items()]
    return sorted(fused, key=lambda one: (-one.score, one.best_rank, one.key))


def fuse_queries(arms: Iterable[Sequence[Sequence[str]]], k: int = RRF_K) -> list[Fused]:
    """Fuses what several queries (an original and its rewrites) recalled: per arm first, then the arms.

    arms: for each arm the ranked list of each query. With one query an arm's list is taken as it is.
    """
    return fuse_ranked_lists((_one_list(lists, k) for lists in arms), k)


def _one_list(lists: Sequence[Sequence[str]], k: int) -> Sequence[str]:
    if len(lists) == 1:
        return lists[0]
    return [one.key for one in fuse_ranked_lists(lists, k)]
