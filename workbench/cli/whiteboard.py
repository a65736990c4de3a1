"""`whiteboard`: look at the pages, write and move cards, keep answers, and bring old pages into shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import JsonOption, ProjectOption, Session, session
from workbench.cli.terminal import note, read_bytes, read_text, say, show_json, show_table
from workbench.core.errors import InputError
from workbench.memory.writing.values import AnswerTarget

if TYPE_CHECKING:
    from workbench.app.whiteboard import Whiteboard
    from workbench.memory.whiteboard.index import PageCheck
    from workbench.memory.whiteboard.report import LintReport
    from workbench.memory.writing.values import Commit

NO_EXIT = 1
PageArgument = Annotated[str, typer.Argument(help="A page by its path relative to the memory root.")]
UserOption = Annotated[bool, typer.Option("--user", help="Write as the person: user zones may change.")]


def add_commands(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    whiteboard = typer.Typer(help="The whiteboard: pages of cards, and zones that only you edit.", no_args_is_help=True)
    whiteboard.command("check")(check_pages)
    whiteboard.command("lint")(lint_pages)
    whiteboard.command("write")(write_page)
    whiteboard.command("move")(move_card)
    whiteboard.command("archive-answer")(archive_answer)
    whiteboard.command("migrate")(migrate_page)
    app.add_typer(whiteboard, name="whiteboard")


def check_pages(
    context: typer.Context,
    pages: Annotated[
        list[str] | None, typer.Argument(help="Pages by path relative to the memory root; else all.")
    ] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show the cards of pages and the digest that a writer names; exit status 1 when a page has a fault."""
    here = session(context, project, as_json)
    checked = _board(here).check(pages or ())
    if here.as_json:
        show_json([page.model_dump(mode="json") for page in checked])
    else:
        for page in checked:
            _show_page(page)
    return NO_EXIT if any(page.faults for page in checked) else 0


def lint_pages(
    context: typer.Context,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    stale_days: Annotated[int, typer.Option(min=0, help="A card dated longer ago is stale.")] = 30,
    strict: Annotated[bool, typer.Option("--strict", help="Exit status 1 when there is a finding.")] = False,
) -> int:
    """Report orphans, stale cards, missing cards and missing links, and what was not checked. Repairs nothing."""
    here = session(context, project, as_json)
    report = _board(here).lint(stale_days)
    show_json(report) if here.as_json else _show_lint(report)
    return NO_EXIT if strict and report.findings else 0


def write_page(
    context: typer.Context,
    page: PageArgument,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    expect: Annotated[
        str | None, typer.Option(help="The digest of the page that you read, from `check`; left out for a new page.")
    ] = None,
    renamed: Annotated[list[str] | None, typer.Option(help="OLD=NEW ids of a renamed card; may be repeated.")] = None,
    archived: Annotated[list[str] | None, typer.Option(help="ID=REASON of an archived card; may be repeated.")] = None,
    as_user: UserOption = False,
) -> None:
    """Replace a page by what stdin holds. Refused, with every reason, when a card or a user zone would be lost."""
    from workbench.memory.whiteboard.contract import PageEdit

    here = session(context, project, as_json)
    edit = PageEdit(
        "user" if as_user else "model",
        renamed=_pairs("--renamed", renamed),
        archived=_pairs("--archived", archived),
    )
    _show_commit(here, _board(here).write(page, read_bytes(), expect, edit))


def move_card(
    context: typer.Context,
    card: Annotated[str, typer.Argument(help="The id of a card.")],
    page: PageArgument,
    new_id: Annotated[str, typer.Option("--as", help="The id that the card gets there.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
    as_user: UserOption = False,
) -> None:
    """Move a card to the end of another page, under a new id that supersedes the old one."""
    here = session(context, project, as_json)
    _show_commit(here, _board(here).move(card, page, new_id, "user" if as_user else "model"))


def archive_answer(
    context: typer.Context,
    request_id: Annotated[str, typer.Argument(help="Names the request: the same one again adds nothing.")],
    title: Annotated[str, typer.Option(help="What the answer is about, on one line.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
    target: Annotated[AnswerTarget, typer.Option(help="Where the answer is kept.")] = AnswerTarget.CARD,
    evidence: Annotated[
        list[str] | None, typer.Option(help="The id of a resource that the answer rests on; may be repeated.")
    ] = None,
    page: Annotated[str | None, typer.Option(help="The page to add it to, instead of the default one.")] = None,
) -> None:
    """Keep the conclusion that stdin holds as a card, a memory of its own, or an entry of the handoff ledger."""
    from workbench.memory.writing.answers import Answer

    here = session(context, project, as_json)
    answer = Answer(request_id, target, title, read_text(), tuple(evidence or ()), page)
    kept = _board(here).archive_answer(answer)
    show_json(kept) if here.as_json else say(f"{kept.resource_id} in {kept.page}")


def migrate_page(
    context: typer.Context,
    page: PageArgument,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    apply: Annotated[str | None, typer.Option(help="Apply what was shown under this digest.")] = None,
) -> None:
    """Show the anchors and user zones that a page without them would get; `--apply DIGEST` then adds them."""
    here = session(context, project, as_json)
    if apply is not None:
        _show_commit(here, _board(here).migrate(page, apply))
        return
    shown = _board(here).migration(page)
    if here.as_json:
        show_json(shown)
    elif shown.diff:
        say(shown.diff.rstrip("\n"))
        note(f"Nothing is written yet. To apply it: workbench whiteboard migrate {page} --apply {shown.digest}")
    else:
        note("Nothing is to be done.")


def _board(here: Session) -> Whiteboard:
    return here.project().whiteboard


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """NAME=VALUE pairs. Raises: `invalid_argument` for one without a name or a value, and for a name given twice."""
    pairs = [(name.strip(), value.strip()) for name, _, value in (one.partition("=") for one in given or ())]
    if not all(name and value for name, value in pairs) or len(dict(pairs)) < len(pairs):
        raise InputError("invalid_argument", f"Give {option} as ID=VALUE, once for each id.")
    return dict(pairs)


def _show_commit(here: Session, commit: Commit) -> None:
    if here.as_json:
        show_json(commit)
    else:
        say(f"written: {', '.join(commit.written) or 'nothing, since nothing changed'}")


def _show_page(page: PageCheck) -> None:
    say(f"{page.page}  {page.digest}")
    show_table(
        ("line", "card", "status", "title"),
        (
            (card.line, card.card_id, "archived" if card.archived is not None else card.status, card.title)
            for card in page.cards
        ),
    )
    for fault in page.faults:
        note(f"{page.page}, line {fault.line}: {fault.message} ({fault.rule})")


def _show_lint(report: LintReport) -> None:
    show_table(
        ("rule", "page", "line", "card", "finding"),
        ((one.rule, one.page, one.line, one.card, one.message) for one in report.findings),
    )
    for check in report.checks:
        found = f"{check.findings} findings" if check.checked else "not checked"
        say(f"{check.rule}: {found}{f' ({check.note})' if check.note else ''}")
    covered = report.coverage
    say(f"looked at {covered.cards} cards of {len(covered.pages)} pages; {covered.linking_sources} other sources refer")
    for skipped in covered.skipped:
        note(f"skipped {skipped}")
