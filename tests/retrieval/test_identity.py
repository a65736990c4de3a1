"""Identity: what names a resource finds it, before anything that only speaks of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.retrieval.world import World

Make = Callable[..., World]
TEXTS = {
    "guide.md": "---\nid: deploy-guide\ntitle: Quarterly Report\n---\n\nPlain words of the guide.\n",
    "chatty.md": "# Chatty\n\n" + "deploy-guide Quarterly Report guide.md " * 20,
    "filler.md": "# Filler\n\nNothing here.\n",
}


@pytest.mark.spec("D4")
@pytest.mark.parametrize("query", ["deploy-guide", "Quarterly Report", "QUARTERLY report", "guide.md", "GUIDE.MD"])
def test_the_resource_that_is_named_leads_the_one_that_repeats_its_name(world: Make, query: str) -> None:
    first = world(TEXTS).candidates(query)[0]
    assert (first.path, first.exact_rank, first.bm25_rank) == ("guide.md", 1, 1)


@pytest.mark.spec("D4")
@pytest.mark.parametrize("query", ["deploy-gui", "Quarterly Rep", "quart", "gui"])
def test_the_beginning_of_a_name_finds_it(world: Make, query: str) -> None:
    found = {one.path: one for one in world(TEXTS).candidates(query)}
    assert found["guide.md"].exact_rank is None


def test_a_unit_found_by_name_alone_has_no_score_and_never_zero(world: Make) -> None:
    made = world({"plan.md": "---\nid: '%%'\n---\n\nwords\n", "other.md": "other words\n"})
    first = made.candidates("%%")[0]
    assert (first.path, first.exact_rank, first.bm25_score, first.vector_score) == ("plan.md", 1, None, None)


def test_a_named_resource_of_many_units_leaves_room_for_its_namesake(world: Make) -> None:
    long = "# Setup\n\n" + "\n\n".join(f"## Part {part}\n\n" + "many words here " * 150 for part in range(70))
    made = world({"a.md": long, "b.md": "# Setup\n\nThe other one.\n"})
    exact = [one for one in made.candidates("setup") if one.exact_rank is not None]
    assert [one.path for one in exact] == ["a.md", "a.md", "b.md"]
    assert made.ask("setup").fragments[2].path == "b.md"
