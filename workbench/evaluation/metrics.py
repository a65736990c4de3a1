"""Binary ranking metrics through ranx; the only ranx code.

ranx takes ranks from scores, fails on an empty run and asserts equal query ids: an order becomes falling scores, and a
query without any result keeps one id that is never relevant, so that it scores 0 and counts in every mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence, Set

METRICS = ("recall@20", "ndcg@10", "mrr@10")
_NOTHING = "\x00nothing"


def score_orders(relevant: Mapping[str, Set[str]], orders: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    """metric -> query -> score, for every query of `relevant` in its order; a query without an order scores 0.

    relevant: query -> ids of its evidence, at least one, all of weight 1. orders: query -> distinct ids, best first.
    The ideal of nDCG uses all evidence, not what was returned.
    """
    if not relevant:
        return {metric: {} for metric in METRICS}
    from ranx import Qrels, Run, evaluate

    qrels = Qrels({query: dict.fromkeys(sorted(ids), 1) for query, ids in relevant.items()})
    run = Run({query: _falling_scores(orders.get(query, ())) for query in relevant})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "unsafe cast from uint64 to int64")  # numba, while it compiles ranx
        table = evaluate(qrels, run, list(METRICS), return_mean=False, make_comparable=True)
    return {metric: dict(zip(qrels.keys(), map(float, table[metric]), strict=True)) for metric in METRICS}


def _falling_scores(ids: Sequence[str]) -> dict[str, float]:
    return {one: float(len(ids) - place) for place, one in enumerate(ids)} or {_NOTHING: 1.0}
