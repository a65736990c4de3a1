from __future__ import annotations

import pytest

from tests.markdown.reading import entries_of
from workbench.core.resource import Layer, Scope, Status
from workbench.markdown.source import UnreadableSource, parse_source

LOG = """# November

<!-- memory:intro -->
What this month was about.

## Standup
<!-- memory:first -->

All well.

### Detail

## Standup

All well.

<!-- memory:last -->
## Standup

Still well.
"""
BOARD = """# Open

Text of the page.

<!-- card:one -->
### First *card*

Body one.

```
<!-- card:fenced -->
### Not a card
```

<!-- card:two -->

### Second

<!-- user:begin -->
Mine.
<!-- user:end -->

## Elsewhere

Not in a card.
"""


def test_a_file_is_one_resource_of_the_user_and_project_layers() -> None:
    for layer, scope in ((Layer.USER, Scope.USER), (Layer.PROJECT, Scope.PROJECT)):
        (entry,) = entries_of(LOG, layer)
        assert (entry.layer, entry.scope, entry.kind, entry.path) == (layer, scope, layer.value, "notes/a.md")
        assert (entry.derived_id, entry.claimed_id, entry.title) == ("notes/a.md", "intro", "November")
        assert entry.body == LOG.strip()


@pytest.mark.field(73)
@pytest.mark.parametrize("layer", [Layer.LOG, Layer.REFLECTION])
def test_a_level_2_section_is_one_resource_of_a_log(layer: Layer) -> None:
    entries = entries_of(LOG, layer, "log/11.md")
    assert [(entry.claimed_id, entry.derived_id, entry.title) for entry in entries] == [
        ("intro", "log/11.md", "November"),
        ("first", "log/11.md#Standup", "Standup"),
        (None, "log/11.md#Standup~2", "Standup"),
        ("last", "log/11.md#Standup~3", "Standup"),
    ]
    assert "\n\n".join(entry.body for entry in entries) == LOG.strip()
    assert [entry.units("x")[0].heading_path for entry in entries] == [(), *[("November", "Standup")] * 3]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("\n\n", []),
        ("# Only a title\n", ["a.md"]),
        ("# Title\n\n## A\n", ["a.md#A"]),
        ("---\ndescription: about\n---\n# Title\n\n## A\n", ["a.md", "a.md#A"]),
        ("text\n", ["a.md"]),
        ("A\n---\n\ntext\n\n# Next\n\n## B\n", ["a.md#A", "a.md#B"]),
        ("## A\n\n# Next\n\ntext\n\n## B\n", ["a.md#A", "a.md#Next", "a.md#B"]),
        ("## A\n\n```\n## B\n```\n\n> ## C\n\n- ## D\n", ["a.md#A"]),
        ("##\n\ntext\n", ["a.md#"]),
        ("## a#b/c~2@d%\n", ["a.md#a%23b%2fc%7e2%40d%25"]),
    ],
)
def test_what_is_an_entry_of_a_log(text: str, ids: list[str]) -> None:
    assert [entry.derived_id for entry in entries_of(text, Layer.LOG, "a.md")] == ids


def test_a_card_is_one_resource_of_a_whiteboard() -> None:
    entries = entries_of(BOARD, Layer.WHITEBOARD, "whiteboard/a.md")
    assert [(entry.claimed_id, entry.derived_id, entry.title) for entry in entries] == [
        ("one", "whiteboard/a.md#First card", "First card"),
        ("two", "whiteboard/a.md#Second", "Second"),
    ]
    assert "### Not a card" in entries[0].body
    assert entries[1].body.startswith("### Second")
    assert entries[1].body.endswith("<!-- user:end -->")


def test_a_page_without_cards_is_still_found() -> None:
    (entry,) = entries_of("# Loose\n\n### Thoughts\n\nneedle\n", Layer.WHITEBOARD)
    assert (entry.derived_id, entry.title) == ("notes/a.md", "Loose")
    assert entries_of(" \n", Layer.WHITEBOARD) == ()


def test_kind_and_scope_hold_for_the_whole_file_and_the_rest_for_its_opening_text() -> None:
    text = "---\nid: day\ntitle: Day\ndescription: About\nkind: diary\nscope: user\n---\nopening\n\n## A\n"
    opening, section = entries_of(text, Layer.LOG)
    assert (opening.claimed_id, opening.title, opening.description) == ("day", "Day", "About")
    assert (section.claimed_id, section.title, section.description) == (None, "A", "")
    assert {(entry.kind, entry.scope) for entry in (opening, section)} == {("diary", Scope.USER)}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From front matter\n---\n# Heading\n", "From front matter"),
        ("text\n\n## Later `code` and [link](x)\n", "Later code and link"),
        ("Setext *title*\n===\n", "Setext title"),
        ("# Title <!-- memory:x --> {#anchor}\n", "Title"),
        ("# \n\n# Second\n", "Second"),
        ("```\n# fenced\n```\n", "a"),
        ("", "a"),
    ],
)
def test_the_title_is_front_matter_then_heading_then_file_name(text: str, title: str) -> None:
    assert [entry.title for entry in entries_of(text)] == [title]


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("<!-- memory:x -->\n# Title\n", "x"),
        ("# Title <!--memory: x-->\n", "x"),
        ("# Title\n\ntext\n\n<!-- memory:决定-1 -->\n", "决定-1"),
        ("---\nid: front\n---\n<!-- memory:x -->\n", "front"),
        ("```\n<!-- memory:x -->\n```\n", None),
        ("text <!-- memory:x -->\n", None),
        ("    <!-- memory:x -->\n", None),
        ("<!-- memory: -->\n", None),
        ("<!-- card:x -->\n", None),
        (f"<!-- memory:{'x' * 201} -->\n", None),
    ],
)
def test_an_anchor_is_a_comment_of_its_own(text: str, claim: str | None) -> None:
    assert [entry.claimed_id for entry in entries_of(text)] == [claim]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"He said \x93no\x94.\n", "encoding"),
        (b"cut \xed\xa0\xbd\n", "encoding"),
        ("text".encode("utf-16"), "encoding"),
        (b"a\x00b null here\n", "nul"),
        (b"---\n: [\n---\n", "front_matter"),
    ],
)
def test_what_cannot_be_read_says_why(raw: bytes, reason: str) -> None:
    with pytest.raises(UnreadableSource) as refused:
        parse_source("a.md", Layer.PROJECT, raw)
    assert refused.value.reason == reason


def test_an_entry_becomes_a_resource_under_the_id_it_is_granted() -> None:
    (entry,) = entries_of("---\nid: wanted\ndescription: About it.\n---\n# Title\n\nText.\n")
    resource = entry.resource("granted", Status.SUPERSEDED, "other")
    assert (resource.resource_id, resource.status, resource.superseded_by) == ("granted", "superseded", "other")
    assert (resource.path, resource.source_ref, resource.title, resource.l0) == (
        "notes/a.md",
        "notes/a.md",
        "Title",
        "About it.",
    )
    assert resource.content_hash == entry.resource("another").content_hash


def test_the_catalogue_line_of_a_section_is_its_first_sentence() -> None:
    first, *_ = entries_of("## Standup\n<!-- memory:first -->\n\nAll well. More.\n", Layer.LOG)
    assert first.resource("x").l0 == "All well."
    (bare,) = entries_of("## Standup\n", Layer.LOG)
    assert bare.resource("x").l0 == "Standup"


def test_editing_bodies_changes_no_id() -> None:
    edited = LOG.replace("All well.", "Everything burns.\n\n### New detail").replace("# November", "# Dezember")
    before, after = (entries_of(text, Layer.LOG) for text in (LOG, edited))
    assert [entry.derived_id for entry in before] == [entry.derived_id for entry in after]
    assert [entry.claimed_id for entry in before] == [entry.claimed_id for entry in after]
