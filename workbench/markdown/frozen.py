"""The units of a resource of which only layer, description and body were kept: same keys, parts and texts as live.

What stood above the body in its source is gone: a heading path may lack the page's title, and spans are of the body.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.core.resource import Layer
from workbench.core.unit import Unit
from workbench.markdown.blocks import Block, heading_text, parse_blocks
from workbench.markdown.entries import CARD_LEVEL, SECTION_LEVEL, memory_claim
from workbench.markdown.source_text import SourceText
from workbench.markdown.units import Region, cut_units

_DERIVED_ID = re.compile(r"[^#]*\.(?:md|markdown)(#.*)?", re.IGNORECASE | re.DOTALL)


def cut_frozen(resource_id: str, layer: Layer, description: str, body: str) -> tuple[Unit, ...]:
    """The units of a frozen body, as `Entry.units` gives them.

    Two shapes cannot be told apart by their body: in a log, an opening text and a later level-1 section, both with a
    claimed id and a level-1 heading (taken for the opening text); on a whiteboard, a card and a page without any card
    that claims its id in front matter and has one level-3 heading first (taken for the card). A wrong guess shows only
    in the keys of a body of more than one unit.
    """
    source = SourceText(body.encode("utf-8"))
    blocks = parse_blocks(source.text)
    own = None if description else _own_heading(resource_id, layer, blocks)
    context = () if own is None else (heading_text(own),)
    region = Region(*source.trimmed(0, len(source.text)), blocks, context, owned=own is not None)
    return cut_units(source, region, resource_id, description)


def _own_heading(resource_id: str, layer: Layer, blocks: Sequence[Block]) -> Block | None:
    """The heading that the entry is named by; None for a whole file and for the text before the first section."""
    headings = [block for block in blocks if block.is_heading]
    if not headings or layer in (Layer.USER, Layer.PROJECT):
        return None
    derived = _DERIVED_ID.fullmatch(resource_id)
    if derived:
        return headings[0] if derived[1] else None
    if layer is Layer.WHITEBOARD:
        return headings[0] if _is_card(resource_id, blocks, headings) else None
    return headings[0] if headings[0].level == SECTION_LEVEL else None


def _is_card(resource_id: str, blocks: Sequence[Block], headings: Sequence[Block]) -> bool:
    """A card is one level-3 section; its anchor stands above the body, while a page claims its id inside."""
    tops = [heading for heading in headings if heading.level <= CARD_LEVEL]
    return blocks[0].level == CARD_LEVEL and len(tops) == 1 and memory_claim(blocks) != resource_id
