"""Other engines behind one small interface: build into a folder, open from it, answer with the best rows.

Each is used as its own documentation advises, on the same units in the same four columns, weighted alike where the
engine has weights. CJK runs become bigrams for those that cannot cut them.
"""

from __future__ import annotations

import pickle
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WIDTH = 60
WEIGHTS = {"path": 8.0, "title": 6.0, "heading": 4.0, "body": 1.0}
FLOATS = NDArray[np.float32]
TOKEN = re.compile(r"[\u3400-\u9fff]+|[^\W_]+")
SearchText = Callable[[str], Sequence[int]]
SearchVector = Callable[[FLOATS], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Row:
    """One unit as every engine indexes it; its place in the list is its name."""

    path: str
    title: str
    heading: str
    body: str

    @property
    def joined(self) -> str:
        return f"{self.path} {self.title} {self.heading} {self.body}"


@dataclass(frozen=True, slots=True)
class Peer:
    """A lexical engine. `most` is the size beyond which it is not asked, None without a bound."""

    name: str
    build: Callable[[Path, Sequence[Row]], None]
    open: Callable[[Path], SearchText]
    most: int | None = None


def tokens(text: str) -> list[str]:
    """Lower-case words, CJK runs as bigrams: what engines without a CJK tokeniser are given."""
    found: list[str] = []
    for match in TOKEN.findall(text.lower()):
        if "\u3400" <= match[0] <= "\u9fff" and len(match) > 1:
            found.extend(match[start : start + 2] for start in range(len(match) - 1))
        else:
            found.append(match)
    return found


def build_trigram(folder: Path, rows: Sequence[Row]) -> None:
    with closing(sqlite3.connect(folder / "fts.db")) as database, database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE VIRTUAL TABLE units USING fts5(path, title, heading, body, tokenize = 'trigram')")
        values = ((number, row.path, row.title, row.heading, row.body) for number, row in enumerate(rows))
        database.executemany("INSERT INTO units(rowid, path, title, heading, body) VALUES (?, ?, ?, ?, ?)", values)


def open_trigram(folder: Path) -> SearchText:
    database = sqlite3.connect(folder / "fts.db")
    ask = "SELECT rowid FROM units WHERE units MATCH ? ORDER BY bm25(units, 8, 6, 4, 1) LIMIT ?"

    def search(query: str) -> list[int]:
        match = " OR ".join(f'"{term}"' for term in _trigram_terms(query))
        return [number for (number,) in database.execute(ask, (match, WIDTH))]

    return search


def build_tantivy(folder: Path, rows: Sequence[Row]) -> None:
    import tantivy

    schema = tantivy.SchemaBuilder().add_unsigned_field("number", stored=True)
    for name in WEIGHTS:
        schema = schema.add_text_field(name, tokenizer_name="en_stem")
    writer = tantivy.Index(schema.build(), str(folder)).writer(num_threads=1)
    for number, row in enumerate(rows):
        columns = {name: " ".join(tokens(getattr(row, name))) for name in WEIGHTS}
        writer.add_document(tantivy.Document(number=number, **columns))
    writer.commit()
    writer.wait_merging_threads()


def open_tantivy(folder: Path) -> SearchText:
    import tantivy

    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()

    def search(query: str) -> list[int]:
        parsed = index.parse_query(" ".join(tokens(query)), list(WEIGHTS), field_boosts=WEIGHTS)
        return [searcher.doc(address)["number"][0] for _, address in searcher.search(parsed, WIDTH).hits]

    return search


def build_bm25s(folder: Path, rows: Sequence[Row]) -> None:
    import bm25s
    import Stemmer

    stem = Stemmer.Stemmer("english").stemWords
    retriever = bm25s.BM25()
    retriever.index([stem(tokens(row.joined)) for row in rows], show_progress=False)
    retriever.save(folder)


def open_bm25s(folder: Path) -> SearchText:
    import bm25s
    import Stemmer

    stem = Stemmer.Stemmer("english").stemWords
    retriever = bm25s.BM25.load(folder)

    def search(query: str) -> list[int]:
        found, _ = retriever.retrieve([stem(tokens(query))], k=WIDTH, show_progress=False)
        return [int(number) for number in found[0]]

    return search


def build_rank_bm25(folder: Path, rows: Sequence[Row]) -> None:
    from rank_bm25 import BM25Okapi

    (folder / "okapi.pickle").write_bytes(pickle.dumps(BM25Okapi([tokens(row.joined) for row in rows])))


def open_rank_bm25(folder: Path) -> SearchText:
    okapi = pickle.loads((folder / "okapi.pickle").read_bytes())
    return lambda query: best(np.asarray(okapi.get_scores(tokens(query)), dtype=np.float32))


PEERS = (
    Peer("tantivy", build_tantivy, open_tantivy),
    Peer("bm25s", build_bm25s, open_bm25s),
    Peer("FTS5 trigram", build_trigram, open_trigram),
    Peer("rank-bm25", build_rank_bm25, open_rank_bm25, most=20_000),
)


def numpy_scan(vectors: FLOATS) -> SearchVector:
    """The plain exact scan that everybody writes first."""
    return lambda query: best(vectors @ query)


def faiss_flat(vectors: FLOATS) -> SearchVector:
    """The exact scan of faiss over the same float32 vectors."""
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return lambda query: index.search(query[None, :], WIDTH)[1][0].tolist()


def best(scores: FLOATS) -> list[int]:
    """The places of the best `WIDTH` scores, best first."""
    top = np.argpartition(-scores, min(WIDTH, len(scores) - 1))[:WIDTH]
    return [int(place) for place in top[np.argsort(-scores[top], kind="stable")]]


def _trigram_terms(query: str) -> list[str]:
    """Words of three characters or more; CJK runs as windows of three."""
    terms: list[str] = []
    for match in TOKEN.findall(query):
        if "\u3400" <= match[0] <= "\u9fff":
            terms.extend(match[start : start + 3] for start in range(max(1, len(match) - 2)))
        elif len(match) >= 3:
            terms.append(match)
    return terms
