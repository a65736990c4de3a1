"""The metric path on a public set: one order, scored here and independently, gives the same figures."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import bm25s
import ir_measures
import pytest

from workbench.core.case import EvidenceRef
from workbench.evaluation.benchmark import Variant
from workbench.evaluation.judged import JudgedRun, RankedUnit
from workbench.evaluation.metrics import METRICS
from workbench.evaluation.report import build_report


def read_rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        if file.suffix == ".tsv":
            return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        return [json.loads(line) for line in lines]


def bm25_order(documents: list[dict[str, str]], queries: dict[str, str]) -> dict[str, list[str]]:
    """The best hundred documents of each query, by a library of its own."""
    index = bm25s.BM25()
    texts = [f"{one.get('title', '')} {one['text']}" for one in documents]
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    words = bm25s.tokenize(list(queries.values()), stopwords="en", show_progress=False)
    found, _ = index.retrieve(words, k=100, show_progress=False)
    return {query: [documents[place]["id"] for place in row] for query, row in zip(queries, found, strict=True)}


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.spec("D9")
def test_an_order_scores_the_same_here_and_in_another_library(evaluation_sets: Path) -> None:
    folder = evaluation_sets / "scifact"
    documents = read_rows(folder / "corpus.jsonl")
    relevant: dict[str, list[str]] = {}
    for row in read_rows(folder / "qrels.tsv"):
        if int(row["score"]) > 0:
            relevant.setdefault(row["query-id"], []).append(row["corpus-id"])
    queries = {row["id"]: row["text"] for row in read_rows(folder / "queries.jsonl") if row["id"] in relevant}
    order = bm25_order(documents, queries)
    corpus = {document["id"]: "hash" for document in documents}
    runs = [
        JudgedRun(
            case_id=query,
            run_id=query,
            project_id=folder.name,
            query=query,
            evidence=tuple(EvidenceRef(resource_id=one) for one in relevant[query]),
            ranked=tuple(
                RankedUnit(f"{one}#@root", one, "hash", bm25_rank=rank, rrf_rank=rank)
                for rank, one in enumerate(found, start=1)
            ),
            fragments=(),
            corpus=corpus,
            latency_us=None,
        )
        for query, found in order.items()
    ]
    qrels = [ir_measures.Qrel(query, one, 1) for query in order for one in relevant[query]]
    scored = [
        ir_measures.ScoredDoc(query, one, -float(place))
        for query, ids in order.items()
        for place, one in enumerate(ids)
    ]
    measures = [ir_measures.R @ 20, ir_measures.nDCG @ 10, ir_measures.RR @ 10]
    second = ir_measures.calc_aggregate(measures, qrels, scored)

    report = build_report(runs, origin=folder.name)

    means = next(one for one in report.variants if one.variant is Variant.BM25).means
    assert report.cases == 300
    for metric, measure in zip(METRICS, measures, strict=True):
        assert means[metric].mean == pytest.approx(second[measure], abs=0.001)
    assert means["ndcg@10"].mean > 0.6, "a table of zeros would agree too"
