"""A source -> its entries, by layer: what is one memory entry, what it is called, and which units it has.

Pure: no id is granted and no status known here. Only front matter and anchor comments are metadata, never prose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from workbench.core.resource import Layer, Resource, Scope, Span, Status
from workbench.core.text import clean_text
from workbench.core.unit import Unit, escape_key
from workbench.markdown.blocks import heading_text, parse_blocks
from workbench.markdown.entries import ID_CHARS, Draft, Page, cards, sections, whole_file
from workbench.markdown.errors import UnreadableSource
from workbench.markdown.front_matter import split_front_matter
from workbench.markdown.source_text import SourceText
from workbench.markdown.units import Region, cut_units

__all__ = ["Entry", "ParsedSource", "UnreadableSource", "parse_source"]

_ENTRIES_OF = {
    Layer.USER: whole_file,
    Layer.PROJECT: whole_file,
    Layer.LOG: sections,
    Layer.REFLECTION: sections,
    Layer.WHITEBOARD: cards,
}


@dataclass(frozen=True)
class Entry:
    """One memory entry as its source has it.

    claimed_id: what front matter or an anchor asks for; derived_id: from source_ref, heading and occurrence, so that
    no edit of a body changes it. Both are unique only together with those of all other sources.
    """

    claimed_id: str | None
    derived_id: str
    layer: Layer
    scope: Scope
    kind: str
    path: str
    title: str
    description: str
    body: str
    span: Span
    _source: SourceText = field(repr=False, compare=False)
    _region: Region = field(repr=False, compare=False)

    def resource(self, resource_id: str, status: Status = Status.CURRENT, superseded_by: str | None = None) -> Resource:
        """The entry under the id it was granted and with the status that the manifest gives it."""
        return Resource(
            resource_id=resource_id,
            layer=self.layer,
            scope=self.scope,
            kind=self.kind,
            path=self.path,
            title=self.title,
            description=self.description,
            body=self.body,
            source_ref=self.path,
            span=self.span,
            status=status,
            superseded_by=superseded_by,
        )

    def units(self, resource_id: str) -> tuple[Unit, ...]:
        """The units: the description, then those of the body in order."""
        return cut_units(self._source, self._region, resource_id, self.description)


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """The entries of one source, in the order of the file."""

    source_ref: str
    layer: Layer
    entries: tuple[Entry, ...]


def parse_source(source_ref: str, layer: Layer, raw: bytes) -> ParsedSource:
    """The entries of a source.

    Raises: `UnreadableSource` with the reason `encoding`, `nul` or `front_matter`; nothing else, whatever the bytes.
    """
    source = SourceText(raw)
    page, fields = open_page(source)
    drafts = _ENTRIES_OF[layer](page)
    ids = _derived_ids(source_ref, drafts)
    entries = (
        _entry(source, source_ref, layer, draft, derived_id, fields)
        for draft, derived_id in zip(drafts, ids, strict=True)
    )
    return ParsedSource(source_ref, layer, tuple(entries))


def open_page(source: SourceText) -> tuple[Page, Mapping[str, str]]:
    """The body of a source as blocks, and the fields of its front matter. Raises: `UnreadableSource`."""
    front_matter = split_front_matter(source.text)
    first = source.line_of(front_matter.body_start)
    blocks = parse_blocks(source.text[front_matter.body_start :], first)
    described = bool(front_matter.fields.get("description"))
    return Page(blocks, first, source.line_count, described), front_matter.fields


def _derived_ids(source_ref: str, drafts: Sequence[Draft]) -> Iterator[str]:
    """`log/2026.md` for a file or its opening text, `log/2026.md#Heading~2` for what has a heading of its own."""
    seen: Counter[str] = Counter()
    for draft in drafts:
        place = "/".join(map(escape_key, source_ref.split("/")))
        if draft.heading is not None:
            place += f"#{escape_key(draft.heading)}"
        seen[place] += 1
        yield f"{place}~{seen[place]}" if seen[place] > 1 else place


def _entry(
    source: SourceText, source_ref: str, layer: Layer, draft: Draft, derived_id: str, fields: Mapping[str, str]
) -> Entry:
    """Front matter names and describes the file, or its opening text; kind and scope hold for all that is in it."""
    own = fields if draft.heading is None else {}
    start, end = source.trimmed(source.line_start(draft.first), source.line_start(draft.last))
    context = () if draft.heading is None else (*draft.above, draft.heading)
    region = Region(start, end, draft.blocks, context, owned=draft.heading is not None)
    span = source.span(start, end)
    return Entry(
        claimed_id=_id(own.get("id", "")) or draft.claimed_id,
        derived_id=derived_id,
        layer=layer,
        scope=_scope(fields.get("scope", ""), layer),
        kind=clean_text(fields.get("kind", "")) or layer.value,
        path=source_ref,
        title=clean_text(own.get("title", "")) or _first_heading(draft) or PurePosixPath(source_ref).stem,
        description=clean_text(own.get("description", "")),
        body=source.clean(span),
        span=span,
        _source=source,
        _region=region,
    )


def _id(claim: str) -> str | None:
    claim = clean_text(" ".join(claim.split()))
    return claim if len(claim) <= ID_CHARS else None


def _scope(named: str, layer: Layer) -> Scope:
    """The scope by name; without a known one, the person's own layer is theirs and the rest is the project's."""
    if named in list(Scope):
        return Scope(named)
    return Scope.USER if layer is Layer.USER else Scope.PROJECT


def _first_heading(draft: Draft) -> str:
    return next((text for block in draft.blocks if block.is_heading and (text := heading_text(block))), "")
