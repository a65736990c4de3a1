"""Binary ranking metrics through ranx; the only ranx code.

ranx reads ranks from the order of an array, fails on an empty run and asserts equal query ids. It is therefore given
arrays of one width and no ids: what is missing is a miss, so that a query without results scores 0 and counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import islice
from typing import Any

METRICS = ("recall@20", "ndcg@10", "mrr@10")
DEPTH = 20
"""How many places any metric looks at."""
MISS = -1
_NO_EVIDENCE = -2
_CHUNK = 4_096


def score_places(evidence: Sequence[int], places: Sequence[Sequence[int]]) -> dict[str, Any]:
    """metric -> float64 (n_queries,), in the order given.

    evidence: how many pieces of evidence each query has, all of weight 1. places: for each query the number of the
    evidence (from 0) that is met at each place, best place first, `MISS` where none is; no number twice.
    The ideal of nDCG uses all evidence, not what was returned.
    """
    import numpy as np

    parts = [
        _score(evidence[start : start + _CHUNK], places[start : start + _CHUNK])
        for start in range(0, len(evidence), _CHUNK)
    ]
    return {metric: np.concatenate([np.empty(0), *(part[metric] for part in parts)]) for metric in METRICS}


def score_orders(relevant: Mapping[str, Set[str]], orders: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    """metric -> query -> score, for every query of `relevant` in its order; a query without an order scores 0.

    relevant: query -> ids of its evidence. orders: query -> distinct ids, best first.
    """
    places = []
    for query, ids in relevant.items():
        numbers = {one: number for number, one in enumerate(sorted(ids))}
        places.append([numbers.get(one, MISS) for one in islice(orders.get(query, ()), DEPTH)])
    scores = score_places([len(ids) for ids in relevant.values()], places)
    return {metric: dict(zip(relevant, map(float, values), strict=True)) for metric, values in scores.items()}


def _score(evidence: Sequence[int], places: Sequence[Sequence[int]]) -> Mapping[str, Any]:
    """ranx on (query, place, [id, score]) arrays; padding of the evidence has score 0, which ranx does not count."""
    import numpy as np
    from ranx import evaluate

    numbers = np.arange(max(1, *evidence, 1))
    known = numbers < np.array(evidence)[:, None]
    qrels = np.stack([np.where(known, numbers, _NO_EVIDENCE), known.astype(np.int64)], axis=2)
    run = np.full((len(places), DEPTH, 2), MISS, dtype=np.int64)
    run[:, :, 1] = np.arange(DEPTH, 0, -1)
    for row, one in enumerate(places):
        run[row, : len(one), 0] = one[:DEPTH]
    table: Mapping[str, Any] = evaluate(qrels, run, list(METRICS), return_mean=False)
    return table
