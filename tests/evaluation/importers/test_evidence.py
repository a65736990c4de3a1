"""A range of a document's text becomes the unit that holds it, whatever was done to the text on its way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.case import EvidenceRef
from workbench.core.resource import Layer, Scope
from workbench.evaluation.frozen import FrozenResource
from workbench.evaluation.importers.evidence import EvidenceFinder
from workbench.evaluation.importers.parsed import Document, Findings, Question, Target
from workbench.markdown.frozen import cut_frozen
from workbench.markdown.source import parse_source
from workbench.storage.corpus_table import CorpusEntry

WORDS = " ".join(f"word{number}" for number in range(2_000))
SECTIONS = "".join(f"# Part {n}\n\n{'Sentence of this part. ' * 60}\n\nmarker{n} stands here.\n\n" for n in range(6))


class Corpus:
    """One document, frozen as the reader of Markdown sees it."""

    def __init__(self, text: str) -> None:
        entry = parse_source("d.md", Layer.PROJECT, text.encode("utf-8")).entries[0]
        listed = CorpusEntry("d.md", "hash", Layer.PROJECT, Scope.PROJECT, "note", "d.md", entry.title)
        self.frozen = FrozenResource(listed, entry.title, entry.description, entry.body)

    def __contains__(self, resource_id: str) -> bool:
        return resource_id == "d.md"

    def read(self, resource_id: str) -> FrozenResource:
        assert resource_id == "d.md"
        return self.frozen


def found(text: str, *targets: Target, written: str | None = None) -> tuple[tuple[EvidenceRef, ...], Findings]:
    findings = Findings()
    finder = EvidenceFinder({"d": Document("d", "d.md", "", text)}, {"d": "d.md"}, findings)
    return finder.refs(Question("q", "?", targets), Corpus(text if written is None else written)), findings


def unit_text(text: str, ref: EvidenceRef) -> str:
    body = Corpus(text).frozen.body
    return next(one.text for one in cut_frozen("d.md", Layer.PROJECT, "", body) if one.unit_key == ref.unit_key)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("before", ["", "\ufeff", "\n\n  \n", "---\ntitle: Own\n---\n"])
def test_a_span_is_the_unit_that_holds_its_words(number: int, before: str) -> None:
    text = before + SECTIONS
    start = text.index(f"marker{number}")

    refs, findings = found(text, Target("d", (start, start + 7)))

    assert f"marker{number} stands" in unit_text(text, refs[0])
    assert findings.all() == ()


def test_carriage_returns_and_decomposed_letters_shift_nothing() -> None:
    text = SECTIONS.replace("part", "pa\u0308rt").replace("\n", "\r\n")
    start = text.index("marker4")
    refs, _ = found(text, Target("d", (start, start + 7)))
    assert "marker4" in unit_text(text, refs[0])


@given(start=st.integers(0, len(WORDS) - 1), size=st.integers(1, 200))
def test_of_overlapping_units_one_holds_the_span_whole(start: int, size: int) -> None:
    end = min(len(WORDS), start + size)
    refs, findings = found(WORDS, Target("d", (start, end)))
    assert len(refs) == 1
    assert WORDS[start:end].strip() in unit_text(WORDS, refs[0])
    assert findings.all() == ()


def test_a_span_across_a_border_is_the_unit_that_holds_most_of_it() -> None:
    border = SECTIONS.index("# Part 3")
    (mostly_before,), _ = found(SECTIONS, Target("d", (border - 200, border + 20)))
    (mostly_after,), _ = found(SECTIONS, Target("d", (border - 20, border + 200)))
    assert "marker2" in unit_text(SECTIONS, mostly_before)
    assert "# Part 3" in unit_text(SECTIONS, mostly_after)


def test_a_span_in_no_unit_is_the_whole_resource_and_a_finding() -> None:
    text = "---\ntitle: Own\n---\nBody.\n"
    refs, findings = found(text, Target("d", (4, 9)))
    assert refs == (EvidenceRef(resource_id="d.md"),)
    assert findings.all() == ("question 'q': no one unit of 'd' has characters 4 to 9; all of it counts",)


def test_spans_of_one_unit_are_one_piece_of_evidence() -> None:
    refs, _ = found("Short text.", Target("d", (0, 5)), Target("d", (6, 10)))
    assert len(refs) == 1


def test_headings_name_the_one_unit_below_them_and_never_half_a_heading() -> None:
    nested = "".join(f"# {top}\n\n## Roll back\n\n{'Words of this. ' * 90}\n\n" for top in ("dockside", "probe-gate"))
    (ref,), _ = found(nested, Target("d", headings="probe-gate / Roll back"))
    assert ref.unit_key == "d.md#probe-gate/Roll back@1"
    for headings in ("back", "Roll back", "gate / Roll back"):
        refs, findings = found(nested, Target("d", headings=headings))
        assert (refs[0].unit_key, len(findings.all())) == (None, 1)


def test_a_question_whose_documents_are_all_missing_cannot_be_judged() -> None:
    findings = Findings()
    finder = EvidenceFinder({}, {"d": "d.md"}, findings)
    assert finder.knows(Question("q", "?", ()))
    assert finder.knows(Question("q", "?", (Target("d"), Target("gone"))))
    assert not finder.knows(Question("q", "?", (Target("gone"),)))
    assert len(findings.all()) == 2
