"""Four orders of one trace, and sets in BEIR layout as Markdown memories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evaluation.recorded import candidate
from workbench.core.errors import InputError
from workbench.core.resource import Layer
from workbench.core.run import RecalledUnit, Trace
from workbench.evaluation.beir import read_beir, write_memory
from workbench.evaluation.benchmark import Variant, resource_order, variant_order
from workbench.markdown.source import parse_source

TRACE = Trace(
    candidates=(
        candidate(1, exact_rank=None, bm25_rank=3, vector_rank=1, rerank_rank=2),
        candidate(2, exact_rank=1, bm25_rank=1, vector_rank=None, bm25_score=None, rerank_rank=1),
        candidate(3, exact_rank=None, bm25_rank=None, vector_rank=2, bm25_score=None),
        candidate(4, exact_rank=None, bm25_rank=2, vector_rank=None),
    ),
    fused_out=(RecalledUnit(unit_key="notes/5.md#@root", resource_id="notes/5.md", bm25_rank=4, vector_rank=3),),
)


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        (Variant.BM25, [2, 4, 1, 5]),
        (Variant.DENSE, [1, 3, 5]),
        (Variant.RRF, [1, 2, 3, 4]),
        (Variant.RERANKED, [2, 1, 3, 4]),
    ],
)
def test_each_variant_is_the_order_of_its_own_stage(variant: Variant, expected: list[int]) -> None:
    order = resource_order(variant_order((*TRACE.candidates, *TRACE.fused_out), variant))

    assert order == tuple(f"notes/{number}.md" for number in expected)


def test_a_resource_stands_where_its_first_unit_stands() -> None:
    units = [candidate(1), candidate(2, resource_id="notes/1.md"), candidate(3)]

    assert resource_order(units) == ("notes/1.md", "notes/3.md")


def _write_set(folder: Path, documents: list[dict[str, str]]) -> Path:
    folder.mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    (folder / "queries.jsonl").write_text('{"id": "q", "text": "where?", "scope": "s1"}\n', encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td1\t1\nq\td2\t0\n", encoding="utf-8")
    return folder


def test_a_set_becomes_files_of_its_scope_with_their_titles(tmp_path: Path) -> None:
    rows = [
        {"id": "d1", "path": "a/1.md", "title": "Yes: a #title", "text": "Body", "scope": "s1"},
        {"id": "d2", "path": "a/2.md", "title": "Two", "text": "---\ntitle: Own\n---\nBody", "scope": "s1"},
        {"id": "d3", "path": "a/3.md", "title": "", "text": "Other", "scope": "s2"},
    ]
    beir = read_beir(_write_set(tmp_path / "set", rows))
    ((scope, documents, questions),) = beir.scopes()

    names = write_memory(documents, tmp_path / "memory")

    assert (scope, names, questions[0].relevant) == ("s1", {"a/1.md": "d1", "a/2.md": "d2"}, {"d1"})
    titles = [
        parse_source(path, Layer.PROJECT, (tmp_path / "memory" / path).read_bytes()).entries[0].title for path in names
    ]
    assert titles == ["Yes: a #title", "Own"]


@pytest.mark.field(141)
def test_a_folder_that_is_no_set_is_an_error_and_no_table_of_zeros(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"corpus\.jsonl.* is missing"):
        read_beir(tmp_path)


def test_a_document_that_leads_out_of_the_memory_is_refused(tmp_path: Path) -> None:
    rows = [{"id": "d1", "path": "../out.md", "title": "", "text": "Body", "scope": "s1"}]
    ((_, documents, _),) = read_beir(_write_set(tmp_path / "set", rows)).scopes()

    with pytest.raises(InputError, match="leads out"):
        write_memory(documents, tmp_path / "memory")

    assert not (tmp_path / "out.md").exists()
