"""CommonMark (with tables) as a tree of blocks with their lines; what is inside a fence is no structure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.rules_block import (
    StateBlock,
    blockquote,
    fence,
    heading,
    hr,
    html_block,
    list_block,
    reference,
)

from workbench.core.text import one_line

HEADING_CHARS = 120
"""What of a heading goes into paths and keys; equal ones are told apart by their occurrence."""
_INLINE = MarkdownIt("commonmark")
_CONTAINERS = frozenset({"bullet_list", "ordered_list", "list_item", "blockquote"})
_MARKUP = re.compile(r"[\\`*_\[\]<>&!\n]")
_COMMENT = re.compile("<!--.*?-->", re.DOTALL)
_ATTRIBUTES = re.compile(r"\s*\{[#.][^{}]*\}\s*$")
_MARKERS: Mapping[RuleFuncBlockType, str] = {
    fence: "`~",
    blockquote: ">",
    hr: "*-_",
    list_block: "*+-0123456789",
    reference: "[",
    html_block: "<",
    heading: "#",
}
"""What a line that a rule accepts begins with."""
_NO_PLAIN_LINE = frozenset("".join(_MARKERS.values()) + "=:|")
"""With the underlines of headings and tables: a line that begins otherwise can only be text."""


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


def leaves_open(text: str) -> bool:
    """Whether a heading behind this text would be lost in a fence or a comment that it does not close."""
    return not parse_blocks(f"{text}\n\n# end\n")[-1].is_heading


def _plain_paragraph(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A paragraph none of whose lines could be anything else; decided by one character a line, not by every rule."""
    line, last = first, state.lineMax
    if state.is_code_block(first):
        return False
    while line < last and not state.isEmpty(line):
        if state.src[state.bMarks[line] + state.tShift[line]] in _NO_PLAIN_LINE:
            return False
        line += 1
    state.line = line
    state.push("paragraph", "p", 0).map = [first, line]
    return True


def _only_behind(markers: str, rule: RuleFuncBlockType) -> RuleFuncBlockType:
    """The rule, asked only about lines that begin with one of its markers: most lines begin with none."""
    known = frozenset(markers)

    def guarded(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        at = state.bMarks[first] + state.tShift[first]
        return at < state.eMarks[first] and state.src[at] in known and rule(state, first, last, silent)

    return guarded


def _block_parser() -> MarkdownIt:
    """CommonMark's own rules, with shortcuts that decide nothing but what they would."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    for rule in parser.block.ruler.__rules__:
        if rule.fn in _MARKERS:
            rule.fn = _only_behind(_MARKERS[rule.fn], rule.fn)
    parser.block.ruler.before("table", "plain_paragraph", _plain_paragraph)
    return parser


_BLOCKS = _block_parser()


def heading_text(block: Block) -> str:
    """A heading as one reads it: on one line, without markup, comments and `{#attributes}`, at most 120 characters."""
    content = _ATTRIBUTES.sub("", _COMMENT.sub("", block.content))
    if _MARKUP.search(content):
        tokens = _INLINE.parseInline(content)[0].children or []
        content = "".join(" " if token.type.endswith("break") else token.content for token in tokens)
    return one_line(content, HEADING_CHARS)
