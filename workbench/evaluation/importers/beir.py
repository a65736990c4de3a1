"""Sets in BEIR layout: the standard one (`_id`, `qrels/test.tsv`), and the same with paths, scopes and spans.

| file | rows |
|---|---|
| `corpus.jsonl` | `id` or `_id`, `text`; optional `title`, `path`, `scope` |
| `queries.jsonl` | `id` or `_id`, `text`; optional `scope`: only documents of that scope are searched |
| `qrels.tsv` or `qrels/test.tsv` | query, document, score; above 0 is evidence |
| `spans.tsv`, optional | query, document, start, end: where in the document's text the evidence is, in characters |
| `queries_no_evidence.jsonl`, optional | queries that nothing in the corpus answers |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.evaluation.importers.parsed import (
    Document,
    Findings,
    ParsedSet,
    Question,
    SetScope,
    Target,
    parsed_set,
    unusable,
)
from workbench.evaluation.importers.reading import SetFiles, text_of, whole_number
from workbench.evaluation.sets import SetFormat

CORPUS, QUERIES, QRELS, STANDARD_QRELS = "corpus.jsonl", "queries.jsonl", "qrels.tsv", "qrels/test.tsv"
SPANS, NO_EVIDENCE, HARD_NEGATIVES = "spans.tsv", "queries_no_evidence.jsonl", "hard_negatives.tsv"
Judged = dict[str, dict[str, list[tuple[int, int]]]]
"""query -> document -> the spans of its evidence; no span means the whole document."""


@dataclass(frozen=True, slots=True)
class _Scoped:
    """A document with the scope that it belongs to."""

    document: Document
    scope: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query as its file has it."""

    query_id: str
    text: str
    scope: str
    place: str


def read_beir(folder: Path) -> ParsedSet:
    """Read a set. A query without a judgement is left out, with a finding.

    Raises: `InputError("invalid_argument")` when a file is missing or nothing can be asked, with all findings.
    """
    findings = Findings()
    files = SetFiles(folder, findings)
    qrels = QRELS if files.has(QRELS) else STANDARD_QRELS
    if missing := [name for name in (CORPUS, QUERIES, qrels) if not files.has(name)]:
        raise unusable(folder.name, f"{folder} is not in BEIR layout, {', '.join(missing)} is missing", findings)
    documents = _documents(files)
    asked, silent = _queries(files, QUERIES), _queries(files, NO_EVIDENCE) if files.has(NO_EVIDENCE) else {}
    judged = _judgements(files, qrels, asked, documents)
    if files.has(SPANS):
        _add_spans(files, judged, documents)
    if files.has(HARD_NEGATIVES):
        findings.add(HARD_NEGATIVES, "not imported: evidence says what is relevant, and nothing else")
    questions = list(_questions(asked, silent, judged, documents, findings))
    return parsed_set(folder.name, SetFormat.BEIR, files.read, list(_scopes(documents, questions)), findings)


def _documents(files: SetFiles) -> dict[str, _Scoped]:
    documents: dict[str, _Scoped] = {}
    for place, row in files.objects(CORPUS):
        document_id, text = text_of(row, "id", "_id"), row.get("text")
        if document_id is None or not isinstance(text, str):
            files.findings.add(place, "a document needs an `id` (or `_id`) and a `text`")
        elif document_id in documents:
            files.findings.add(place, f"the document {document_id!r} stands twice; the first one counts")
        else:
            path = text_of(row, "path") or f"{document_id}.md"
            document = Document(document_id, path, text_of(row, "title") or "", text)
            documents[document_id] = _Scoped(document, text_of(row, "scope") or "")
    return documents


def _queries(files: SetFiles, name: str) -> dict[str, _Asked]:
    queries: dict[str, _Asked] = {}
    for place, row in files.objects(name):
        query_id, text = text_of(row, "id", "_id"), row.get("text")
        if query_id is None or not isinstance(text, str):
            files.findings.add(place, "a query needs an `id` (or `_id`) and a `text`")
        elif query_id in queries:
            files.findings.add(place, f"the query {query_id!r} stands twice; the first one counts")
        else:
            queries[query_id] = _Asked(query_id, text, text_of(row, "scope") or "", place)
    return queries


def _judgements(files: SetFiles, name: str, asked: Mapping[str, _Asked], documents: Mapping[str, _Scoped]) -> Judged:
    judged: Judged = {}
    seen: set[tuple[str, str]] = set()
    for place, (query_id, document_id, cell) in files.rows(name, 3):
        score = whole_number(cell)
        if score is None:
            files.findings.add(place, f"the score {cell!r} is not a whole number")
        elif query_id not in asked or document_id not in documents:
            files.findings.add(place, _unknown(query_id, document_id, asked))
        elif (query_id, document_id) in seen:
            files.findings.add(place, f"{query_id!r} and {document_id!r} are judged twice; the first one counts")
        else:
            seen.add((query_id, document_id))
            if score > 0:
                judged.setdefault(query_id, {})[document_id] = []
    return judged


def _add_spans(files: SetFiles, judged: Judged, documents: Mapping[str, _Scoped]) -> None:
    for place, (query_id, document_id, first, last) in files.rows(SPANS, 4):
        start, end = whole_number(first), whole_number(last)
        if document_id not in judged.get(query_id, {}):
            files.findings.add(place, f"{document_id!r} is no evidence of {query_id!r}")
        elif start is None or end is None or not 0 <= start < end <= len(documents[document_id].document.text):
            files.findings.add(place, f"{first} to {last} is no range of {document_id!r}; all of it counts")
        elif (start, end) not in (spans := judged[query_id][document_id]):
            spans.append((start, end))


def _questions(
    asked: Mapping[str, _Asked],
    silent: Mapping[str, _Asked],
    judged: Judged,
    documents: Mapping[str, _Scoped],
    findings: Findings,
) -> Iterator[tuple[_Asked, Question]]:
    """Judged queries first, then those that expect nothing."""
    if unjudged := [query_id for query_id in asked if query_id not in judged and query_id not in silent]:
        findings.add(QUERIES, f"{len(unjudged)} queries have no evidence and are left out, the first: {unjudged[0]!r}")
    for query in asked.values():
        targets = [
            one for one in _targets(judged.get(query.query_id, {})) if _in_scope(query, one, documents, findings)
        ]
        if targets:
            yield query, Question(query.query_id, query.text, tuple(targets))
        elif query.query_id in judged:
            findings.add(query.place, f"{query.query_id!r} has no evidence in its scope and is left out")
    for query in silent.values():
        if query.query_id in judged:
            findings.add(query.place, f"{query.query_id!r} has evidence; it does not expect nothing")
        else:
            yield query, Question(query.query_id, query.text, ())


def _targets(judged: Mapping[str, list[tuple[int, int]]]) -> Iterator[Target]:
    for document_id, spans in judged.items():
        for span in spans or (None,):
            yield Target(document_id, span)


def _in_scope(query: _Asked, target: Target, documents: Mapping[str, _Scoped], findings: Findings) -> bool:
    inside = query.scope in ("", documents[target.document_id].scope)
    if not inside:
        findings.add(query.place, f"its evidence {target.document_id!r} is not in the scope {query.scope!r}")
    return inside


def _scopes(documents: Mapping[str, _Scoped], questions: list[tuple[_Asked, Question]]) -> Iterator[SetScope]:
    """Each scope that is asked, in the order in which it is; the empty one holds all documents."""
    for scope in dict.fromkeys(query.scope for query, _ in questions):
        yield SetScope(
            scope,
            tuple(one.document for one in documents.values() if scope in ("", one.scope)),
            tuple(question for query, question in questions if query.scope == scope),
        )


def _unknown(query_id: str, document_id: str, asked: Mapping[str, _Asked]) -> str:
    return f"no query is called {query_id!r}" if query_id not in asked else f"no document is called {document_id!r}"
