from __future__ import annotations

from pathlib import Path

import pytest

from workbench.core.resource import Layer
from workbench.core.tokens import count_tokens
from workbench.markdown.source import parse_source


@pytest.mark.data
@pytest.mark.spec("D3")
@pytest.mark.parametrize("name", ["rust-book", "advanced-java-zh"])
def test_real_pages_are_covered_within_the_limits(real_folders: Path, name: str) -> None:
    for path in sorted((real_folders / name).rglob("*.md")):
        raw = path.read_bytes()
        (entry,) = parse_source(path.name, Layer.PROJECT, raw).entries
        units = entry.units(entry.derived_id)
        covered: set[int] = set()
        for unit in units:
            covered.update(range(unit.span.byte_start, unit.span.byte_end))
            assert unit.token_count == count_tokens(unit.text) <= 480
        body = range(entry.span.byte_start, entry.span.byte_end)
        outside = bytes(raw[place] for place in body if place not in covered)
        assert not outside.strip()
        assert len({unit.unit_key for unit in units}) == len(units)
