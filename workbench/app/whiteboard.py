"""The whiteboard of one project: its pages as the snapshot has them, and every change through the project's gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.core.clock import utc_now
from workbench.core.errors import InputError
from workbench.memory.whiteboard.contract import Actor, PageEdit
from workbench.memory.whiteboard.index import PageCheck, check_page, lint_input, pages_of
from workbench.memory.whiteboard.lint import STALE_DAYS, lint
from workbench.memory.whiteboard.migration import Migration
from workbench.memory.whiteboard.report import LintReport
from workbench.memory.writing.answers import Answer, ArchivedAnswer, archive_answer
from workbench.memory.writing.values import Commit
from workbench.memory.writing.whiteboard import apply_migration, move_card, propose_migration, write_whiteboard

if TYPE_CHECKING:
    from workbench.memory.writing.gate import WriteGate


class Whiteboard:
    """The pages of one memory. gate: the only way to change them."""

    def __init__(self, gate: WriteGate) -> None:
        self.gate = gate

    def check(self, pages: Sequence[str] = ()) -> tuple[PageCheck, ...]:
        """What stands on these pages, or on all of them. Raises: `invalid_argument` naming what is no page."""
        snapshot = self.gate.capture()
        known = pages_of(snapshot)
        unknown = [page for page in pages if page not in known]
        if unknown:
            raise InputError("invalid_argument", f"No readable whiteboard page: {', '.join(unknown)}.", detail=unknown)
        return tuple(check_page(snapshot, page) for page in pages or known)

    def lint(self, stale_days: int = STALE_DAYS) -> LintReport:
        """What a person should look at, on all pages. Changes nothing."""
        return lint(lint_input(self.gate.capture()), utc_now().date(), stale_days)

    def write(
        self,
        page: str,
        content: bytes,
        expected_digest: str | None,
        edit: PageEdit,
        *,
        reason: str = "",
        tx_id: str | None = None,
    ) -> Commit:
        """Replace a page. Raises as `write_whiteboard`."""
        return write_whiteboard(self.gate, page, content, expected_digest, edit, reason=reason, tx_id=tx_id)

    def move(self, card_id: str, page: str, new_id: str, actor: Actor) -> Commit:
        """Move a card to another page. Raises as `move_card`."""
        return move_card(self.gate, card_id, page, new_id, actor)

    def archive_answer(self, answer: Answer) -> ArchivedAnswer:
        """Keep an answer, once for each request. Raises as `archive_answer`."""
        return archive_answer(self.gate, answer, utc_now().date())

    def migration(self, page: str) -> Migration:
        """What anchors and zones would be added to a page. Changes nothing."""
        return propose_migration(self.gate.capture(), page)[0]

    def migrate(self, page: str, shown_digest: str) -> Commit:
        """Add what was shown. Raises as `apply_migration`."""
        return apply_migration(self.gate, page, shown_digest)
