"""Searching a frozen corpus by plain words, for evidence that no arm recalled. No index, no ranking model.

A word is found wherever its characters stand, whatever their case; resources with more of the words come first.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import NamedTuple

from workbench.core.errors import StorageError
from workbench.core.text import one_line
from workbench.evaluation.frozen import FrozenCorpus, FrozenResource

_BEFORE, _SNIPPET_CHARS = 60, 200


class CorpusHit(NamedTuple):
    """One resource. words: how many of the words it has; snippet: its text around the first of them."""

    resource_id: str
    path: str
    title: str
    words: int
    snippet: str


class CorpusSearch(NamedTuple):
    """What was found. unreadable: ids of resources whose archived body cannot be read."""

    text: str
    hits: tuple[CorpusHit, ...]
    unreadable: tuple[str, ...]


def search_corpus(corpus: FrozenCorpus, text: str, limit: int = 50) -> CorpusSearch:
    """The best resources: more of the words first, then words in the title, then by path. No words find nothing."""
    words = tuple(dict.fromkeys(text.casefold().split()))
    ranked: list[tuple[tuple[int, int, str, str], CorpusHit]] = []
    unreadable = []
    for entry in corpus.entries if words else ():
        try:
            resource = corpus.read(entry.resource_id)
        except StorageError:
            unreadable.append(entry.resource_id)
            continue
        title = f"{entry.path}\n{resource.title}".casefold()
        whole = f"{title}\n{resource.description}\n{resource.body}".casefold()
        met = [word for word in words if word in whole]
        if met:
            named = sum(word in title for word in met)
            hit = CorpusHit(entry.resource_id, entry.path, resource.title, len(met), _snippet(resource, met))
            ranked.append(((-len(met), -named, entry.path, entry.resource_id), hit))
    best = nsmallest(limit, ranked, key=lambda one: one[0])
    return CorpusSearch(text, tuple(hit for _, hit in best), tuple(unreadable))


def _snippet(resource: FrozenResource, words: list[str]) -> str:
    """The text around the first of the words, on one line; the beginning where only the name has them."""
    text = resource.body or resource.description
    # Case folding may change lengths: then the place is a little off, never out of range.
    folded = text.casefold()
    places = [place for word in words if (place := folded.find(word)) >= 0]
    start = max(0, min(places, default=0) - _BEFORE)
    return one_line(("…" if start else "") + text[start : start + 2 * _SNIPPET_CHARS], _SNIPPET_CHARS)
