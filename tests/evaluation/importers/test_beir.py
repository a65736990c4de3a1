"""BEIR sets: both layouts give the same questions, and every line that cannot be used is said with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.places import write
from tests.app.sets import DOCUMENTS, QUERIES, beir_set, lines
from workbench.core.errors import InputError
from workbench.evaluation.importers.beir import read_beir
from workbench.evaluation.importers.parsed import Target


def test_both_layouts_are_one_set(tmp_path: Path) -> None:
    own = beir_set(tmp_path / "own")
    standard = write(
        tmp_path / "standard",
        {
            "corpus.jsonl": lines(
                [{"_id": one["id"], "title": one["title"], "text": one["text"]} for one in DOCUMENTS]
            ),
            "queries.jsonl": lines([{"_id": one["id"], "text": one["text"], "metadata": {}} for one in QUERIES]),
            "qrels/test.tsv": (own / "qrels.tsv").read_text(encoding="utf-8"),
        },
    )

    ours, theirs = read_beir(own).scopes[0], read_beir(standard).scopes[0]

    assert ours.questions == theirs.questions
    assert [(one.document_id, one.title, one.text) for one in ours.documents] == [
        (one.document_id, one.title, one.text) for one in theirs.documents
    ]
    assert [one.path for one in theirs.documents] == ["d1.md", "d2.md", "d3.md"]


def test_evidence_spans_scopes_and_silence_are_read(tmp_path: Path) -> None:
    documents = [{**one, "scope": "s1" if one["id"] == "d1" else "s2"} for one in DOCUMENTS]
    queries = [{**QUERIES[0], "scope": "s1"}, {**QUERIES[1], "scope": "s2"}, QUERIES[2]]
    read = read_beir(
        beir_set(
            tmp_path,
            documents,
            queries,
            ("q1\td1\t2", "q2\td2\t1", "q3\td3\t1", "q3\td1\t0"),
            spans="query-id\tcorpus-id\tstart\tend\nq1\td1\t0\t8\nq1\td1\t21\t31\n",
            silent=lines([{"id": "q9", "text": "what is the wifi password", "scope": "s2"}]),
        )
    )

    assert read.findings == ()
    assert [scope.name for scope in read.scopes] == ["s1", "s2", ""]
    assert [[one.document_id for one in scope.documents] for scope in read.scopes] == [
        ["d1"],
        ["d2", "d3"],
        ["d1", "d2", "d3"],
    ]
    assert read.scopes[0].questions[0].evidence == (Target("d1", (0, 8)), Target("d1", (21, 31)))
    assert [(one.query_id, one.evidence) for one in read.scopes[1].questions] == [("q2", (Target("d2"),)), ("q9", ())]
    assert read.scopes[2].questions[0].evidence == (Target("d3"),)


def test_every_line_that_cannot_be_used_is_a_finding_with_its_place(tmp_path: Path) -> None:
    folder = beir_set(tmp_path)
    for name, added in {
        "corpus.jsonl": b'{"id": "d4"\n["d5"]\n{"id": "d6"}\n{"id": "d1", "text": "2"}\n{"id": "d7", "text": "\xff"}',
        "queries.jsonl": b'{"id": "q1", "text": "again"}\n{"text": "no id"}\n{"id": "q8", "text": "unjudged"}\n',
        "qrels.tsv": b"q1\td1\nq1\td9\t1\nq9\td1\t1\nq1\td2\tyes\nq1\td1\t0\n",
        "spans.tsv": b"q1\td1\t0\t900\nq1\td1\t5\t5\nq1\td2\t0\t1\nq1\td1\tx\t2\n",
        "hard_negatives.tsv": b"query-id\tcorpus-id\n",
    }.items():
        with (folder / name).open("ab") as file:
            file.write(added)

    read = read_beir(folder)

    assert [one.partition(":")[0] for one in read.findings] == [
        *(f"corpus.jsonl line {number}" for number in (4, 5, 6, 7, 8)),
        *(f"queries.jsonl line {number}" for number in (4, 5)),
        *(f"qrels.tsv line {number}" for number in (6, 7, 8, 9, 10)),
        *(f"spans.tsv line {number}" for number in (1, 2, 3, 4)),
        "hard_negatives.tsv",
        "queries.jsonl",
    ]
    assert "1 queries have no evidence" in read.findings[-1]
    assert [one.query_id for one in read.scopes[0].questions] == ["q1", "q2", "q3"]
    assert read.scopes[0].questions[0].evidence == (Target("d1"),)


def test_carriage_returns_a_byte_order_mark_and_a_missing_header_change_nothing(tmp_path: Path) -> None:
    plain = read_beir(beir_set(tmp_path / "plain"))
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        data = (tmp_path / "plain" / name).read_bytes().replace(b"\n", b"\r\n")
        data = data.removeprefix(b"query-id\tcorpus-id\tscore\r\n")
        (tmp_path / "odd").mkdir(exist_ok=True)
        (tmp_path / "odd" / name).write_bytes(b"\xef\xbb\xbf" + data)

    odd = read_beir(tmp_path / "odd")

    assert (odd.scopes, odd.findings) == (plain.scopes, ())
    assert odd.digest != plain.digest


def test_evidence_outside_of_its_scope_is_a_finding(tmp_path: Path) -> None:
    documents = [{**one, "scope": one["id"]} for one in DOCUMENTS]
    queries = [{**QUERIES[0], "scope": "d2"}, {**QUERIES[2], "scope": "d3"}]
    read = read_beir(beir_set(tmp_path, documents, queries, ("q1\td1\t1", "q3\td3\t1", "q3\td1\t1")))

    assert [one.query_id for scope in read.scopes for one in scope.questions] == ["q3"]
    assert read.scopes[0].questions[0].evidence == (Target("d3"),)
    assert len(read.findings) == 3
    assert all(one.startswith("queries.jsonl line ") for one in read.findings)


@pytest.mark.field(141)
def test_a_folder_that_is_no_set_is_an_error_and_no_table_of_zeros(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"corpus\.jsonl.* is missing"):
        read_beir(tmp_path)


def test_a_set_that_asks_nothing_is_refused_with_all_its_findings(tmp_path: Path) -> None:
    folder = beir_set(tmp_path, qrels=("q1\td9\t1", "q9\td1\t1"))
    with pytest.raises(InputError, match="no question of it can be asked") as refused:
        read_beir(folder)
    assert len(refused.value.detail) == 3


@pytest.mark.field(143)
def test_the_digest_follows_every_file_that_was_read(tmp_path: Path) -> None:
    digests = {read_beir(beir_set(tmp_path / "a")).digest, read_beir(beir_set(tmp_path / "b")).digest}
    assert len(digests) == 1
    digests.add(read_beir(beir_set(tmp_path / "c", spans="q1\td1\t0\t8\n")).digest)
    digests.add(read_beir(beir_set(tmp_path / "d", qrels=("q1\td1\t1",))).digest)
    assert len(digests) == 3


@pytest.mark.parametrize("name", ["scifact", "memorycode", "xquad-zh2en", "precisionmembench", "devmembench"])
def test_real_sets_are_read_whole(evaluation_sets: Path, name: str) -> None:
    read = read_beir(evaluation_sets / name)
    asked = sum(
        (evaluation_sets / name / file).read_text(encoding="utf-8").count("\n")
        for file in ("queries.jsonl", "queries_no_evidence.jsonl")
        if (evaluation_sets / name / file).exists()
    )
    assert sum(len(scope.questions) for scope in read.scopes) == asked
    assert [one for one in read.findings if not one.startswith("hard_negatives.tsv")] == []
