"""CommonMark (with tables) as a tree of blocks with their lines; what is inside a fence is no structure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt

from workbench.core.text import one_line

HEADING_CHARS = 120
"""What of a heading goes into paths and keys; equal ones are told apart by their occurrence."""
_INLINE = MarkdownIt("commonmark")
_BLOCKS = MarkdownIt("commonmark").enable("table")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_CONTAINERS = frozenset({"bullet_list", "ordered_list", "list_item", "blockquote"})
_MARKUP = re.compile(r"[\\`*_\[\]<>&!\n]")
_COMMENT = re.compile("<!--.*?-->", re.DOTALL)
_ATTRIBUTES = re.compile(r"\s*\{[#.][^{}]*\}\s*$")


@dataclass(slots=True)
class Block:
    """One block. first, last: its lines, half-open, from 0; level: of a heading, else 0.

    content: the source of a heading's text, or of an HTML block. children: of lists, list items and quotes.
    """

    kind: str
    first: int
    last: int
    level: int = 0
    content: str = ""
    children: list[Block] = field(default_factory=list)

    @property
    def is_heading(self) -> bool:
        """Whether a section begins here."""
        return self.kind == "heading"


def parse_blocks(text: str, first_line: int = 0) -> Sequence[Block]:
    """The top-level blocks of a text whose first line has the number `first_line`. No text is refused."""
    root = Block("root", 0, 0)
    stack = [root]
    for token in _BLOCKS.parse(text):
        if token.nesting < 0:
            stack.pop()
            continue
        if token.type == "inline" and stack[-1].is_heading:
            stack[-1].content = token.content
        block = stack[-1]
        if token.map and token.type != "inline":
            kind = token.type.removesuffix("_open")
            block = Block(kind, token.map[0] + first_line, token.map[1] + first_line)
            block.level = int(token.tag[1:]) if block.is_heading else 0
            block.content = token.content if kind == "html_block" else ""
            if stack[-1] is root or stack[-1].kind in _CONTAINERS:
                stack[-1].children.append(block)
        if token.nesting > 0:
            stack.append(block)
    return root.children


def heading_text(block: Block) -> str:
    """A heading as one reads it: on one line, without markup, comments and `{#attributes}`, at most 120 characters."""
    content = _ATTRIBUTES.sub("", _COMMENT.sub("", block.content))
    if _MARKUP.search(content):
        tokens = _INLINE.parseInline(content)[0].children or []
        content = "".join(" " if token.type.endswith("break") else token.content for token in tokens)
    return one_line(content, HEADING_CHARS)
