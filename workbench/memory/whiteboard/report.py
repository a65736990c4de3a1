"""What a lint says: each finding with its place, and for each rule whether it was checked at all."""

from __future__ import annotations

from enum import StrEnum

from workbench.core.wire import Wire


class LintRule(StrEnum):
    """What is looked for."""

    ORPHAN = "orphan"
    STALE = "stale"
    MISSING_CARD = "missing_card"
    MISSING_LINK = "missing_link"
    CONTRADICTION = "contradiction"


class Finding(Wire):
    """One thing that a person should look at. page: a source_ref; line: from 1."""

    rule: LintRule
    page: str
    card: str
    line: int
    message: str


class Check(Wire):
    """One rule. findings: None when it was not checked, which is never "none found"; note: why not, or on what."""

    rule: LintRule
    checked: bool
    findings: int | None
    note: str


class Coverage(Wire):
    """What was looked at.

    undated: cards of which no date is known, so that they cannot be too old; archive_pages hold cards that need no care
    any more; linking_sources: other sources whose links count; skipped: sources that cannot be read, and why.
    """

    pages: tuple[str, ...]
    cards: int
    undated: int
    archive_pages: tuple[str, ...]
    linking_sources: int
    glossaries: tuple[str, ...]
    terms: int
    skipped: tuple[str, ...]


class LintReport(Wire):
    """findings: by page and line, then by rule. checks: every rule, in the order of `LintRule`."""

    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    coverage: Coverage
