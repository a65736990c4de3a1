from __future__ import annotations

import pytest

from tests.markdown.reading import entries_of
from workbench.core.resource import Scope
from workbench.markdown.errors import UnreadableSource
from workbench.markdown.front_matter import split_front_matter


@pytest.mark.parametrize(
    "text",
    [
        "---\nid: 0054\ntitle: yes\ndescription: |\n  two\n  lines\nkind: rule\nscope: user\n---\nbody\n",
        "---\nid: 0054\ntitle: yes\ndescription: |\n  two\n  lines\nkind: rule\nscope: user\n...\nbody\n",
        '+++\nid = "0054"\ntitle = "yes"\ndescription = "two\\nlines"\nkind = "rule"\nscope = "user"\n+++\nbody\n',
        '\ufeff---\r\nid: 0054\r\ntitle: yes\r\nkind: rule\r\nscope: user\r\ndescription: "two\\nlines"\r\n---\r\nbody',
    ],
)
def test_front_matter_names_and_describes_the_file(text: str) -> None:
    (entry,) = entries_of(text)
    assert (entry.claimed_id, entry.title, entry.description) == ("0054", "yes", "two\nlines")
    assert (entry.kind, entry.scope, entry.body) == ("rule", Scope.USER, "body")


@pytest.mark.field(71)
@pytest.mark.field(72)
@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: never closed\n\nneedle\n",
        "+++\ntitle = 'never closed'\nneedle\n",
        "---\n\nneedle: between rulers\n\n---\n",
        "---\nneedle between rulers\n---\nmore\n",
        "---\n- needle\n---\nmore\n",
        "needle\n\n---\ntitle: late\n---\n",
        "\n---\ntitle: late\n---\nneedle\n",
        " ---\ntitle: indented\n---\nneedle\n",
        "----\ntitle: a ruler\n----\nneedle\n",
        "[24:33.098 - 24:41.260] title: x\n- [ ] needle\n- title: x\n",
        "title: needle\n",
        "---",
    ],
)
def test_prose_stays_body(text: str) -> None:
    (entry,) = entries_of(text)
    assert entry.body == text.strip("\n")
    assert (entry.claimed_id, entry.description, entry.kind) == (None, "", "project")


@pytest.mark.field(71)
@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle:\ttabbed\n---\nneedle\n", "tabbed"),
        ("---\ntitle: first\ntitle: last\n---\nneedle\n", "last"),
        ("---\ntags: [a, b]\ntitle: [a list]\n---\nneedle\n", "a"),
        ("---\n---\nneedle\n", "a"),
        ("---\n# a comment\n---\nneedle\n", "a"),
        ("---\ntitle:\nid:\ndescription:\nscope: galaxy\n---\nneedle\n", "a"),
    ],
)
def test_odd_front_matter_never_costs_the_body(text: str, title: str) -> None:
    (entry,) = entries_of(text)
    assert (entry.title, entry.body, entry.claimed_id, entry.scope) == (title, "needle", None, Scope.PROJECT)


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: [unclosed\n---\nbody\n",
        "---\ntitle: {{ template }}\n---\nbody\n",
        "---\ntitle: a: b\n---\nbody\n",
        "+++\ntitle = unquoted\n+++\nbody\n",
        "+++\na = 1\na = 2\n+++\nbody\n",
        "---\na: " + "[" * 5000 + "\n---\nbody\n",
    ],
)
def test_a_closed_block_that_is_not_valid_is_the_sources_fault(text: str) -> None:
    with pytest.raises(UnreadableSource) as refused:
        entries_of(text)
    assert refused.value.reason == "front_matter"


def test_yaml_can_name_no_code() -> None:
    text = "---\ntitle: !!python/object/apply:os.getcwd []\n---\nbody\n"
    (entry,) = entries_of(text)
    assert (entry.title, entry.body) == ("a", "body")


def test_values_are_text_as_written() -> None:
    fields, start = split_front_matter("---\nid: 007\ndate: 2026-13-45\nflag: no\n---\nbody")
    assert (fields["id"], fields["date"], fields["flag"]) == ("007", "2026-13-45", "no")
    assert start == len("---\nid: 007\ndate: 2026-13-45\nflag: no\n---\n")
