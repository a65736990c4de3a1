"""Names in texts: the words of a name say where it can be, and nothing is lost by that."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.markdown.mentions import Mentions, find_mention

LETTERS = st.text(alphabet="ab AB_1.+-#队列キ々é\u0301\u0915\u093f\n", max_size=12)


@given(texts=st.lists(LETTERS, max_size=6), name=LETTERS.filter(bool))
@example(texts=["In C++ and c", "C", "+"], name="C++")
@example(texts=["消息队列a", "队"], name="队列")
@example(texts=["a??b", "?"], name="??")
def test_a_name_is_found_exactly_where_a_look_at_every_text_finds_it(texts: list[str], name: str) -> None:
    everywhere = [(number, find_mention(name, text)) for number, text in enumerate(texts)]
    assert list(Mentions(texts).find(name)) == [one for one in everywhere if one[1] is not None]


@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_a_name_is_not_found_where_there_is_no_text(texts: list[str]) -> None:
    assert list(Mentions(texts).find("a")) == list(Mentions(texts).find("+")) == []
