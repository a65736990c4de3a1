"""`memory`: writing, correcting and taking back through the gate, and looking back at what was changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.common import JsonOption, ProjectOption, Session, session
from workbench.cli.terminal import note, read_text, say, show_json, show_table
from workbench.core.errors import InputError

if TYPE_CHECKING:
    from workbench.memory.writing.entries import By
    from workbench.memory.writing.history import ResourceHistory
    from workbench.memory.writing.values import Commit

ResourceArgument = Annotated[str, typer.Argument(help="The id of a resource.")]
ReasonOption = Annotated[str, typer.Option(help="Why; kept in the log.")]
TxOption = Annotated[str | None, typer.Option("--tx", help="A tx_id: the same one again changes nothing.")]
FileOption = Annotated[Path | None, typer.Option("--file", help="Read the text from this file, not from stdin.")]


def add_commands(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    memory = typer.Typer(help="Change the memory through its gate, and see what was changed.", no_args_is_help=True)
    memory.command()(write)
    memory.command()(supersede)
    memory.command()(retract)
    memory.command()(restore)
    memory.command()(log)
    memory.command()(show)
    app.add_typer(memory, name="memory")


def write(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="The source: a path below the memory root, ending in .md.")],
    append: Annotated[bool, typer.Option("--append", help="Add a dated section to a log or reflection.")] = False,
    title: Annotated[str, typer.Option(help="The title of the section, behind the date.")] = "",
    expect: Annotated[str | None, typer.Option(help="sha256 of the file as it was read: replace just that.")] = None,
    reason: ReasonOption = "",
    tx: TxOption = None,
    file: FileOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a text from stdin: a new file, a section of a log, or, with --expect, over the file that was read."""
    from workbench.memory.writing.entries import append_entry, write_source

    here, text = session(context, project, as_json), _text(file)
    gate = here.project().gate
    if append:
        commit = append_entry(gate, source, text, _by(reason, tx), title=title)
    else:
        commit = write_source(gate, source, text, expect, _by(reason, tx))
    _show_commit(here, commit, f"{', '.join(commit.written) or 'nothing'} written")


def supersede(
    context: typer.Context,
    resource: ResourceArgument,
    by: Annotated[
        str | None, typer.Option(help="The id that takes its place; left out: a text from stdin does.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Where the new text goes, instead of beside the old one.")] = None,
    title: Annotated[str, typer.Option(help="The title of the section in a log, behind the date.")] = "",
    reason: ReasonOption = "",
    tx: TxOption = None,
    file: FileOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let another resource, or a new text, take the place of one. The old text stays and answers no query any more."""
    from workbench.memory.writing import entries

    here = session(context, project, as_json)
    gate = here.project().gate
    if by is not None:
        commit, successor = entries.supersede(gate, resource, by, _by(reason, tx)), by
    else:
        text = _text(file)
        commit, successor = entries.supersede_by_text(
            gate, resource, text, _by(reason, tx), source_ref=source, title=title
        )
    _show_commit(here, commit, f"{resource} is superseded by {successor}")


def retract(
    context: typer.Context,
    resource: ResourceArgument,
    reason: ReasonOption,
    tx: TxOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a resource out of every answer. Its text stays on the disk, and in the history."""
    from workbench.memory.writing import entries

    here = session(context, project, as_json)
    _show_commit(here, entries.retract(here.project().gate, resource, _by(reason, tx)), f"{resource} is retracted")


def restore(
    context: typer.Context,
    resource: ResourceArgument,
    reason: ReasonOption = "",
    tx: TxOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a superseded or retracted resource current again."""
    from workbench.memory.writing import entries

    here = session(context, project, as_json)
    _show_commit(here, entries.restore(here.project().gate, resource, _by(reason, tx)), f"{resource} is current")


def log(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest first.")] = 20,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the changes, the newest first: who, when, why, what; and what a person has to look at."""
    from workbench.memory.writing.history import read_log, writing_health

    here = session(context, project, as_json)
    place = here.project()
    snapshot = place.capture()
    changes, health = read_log(place.root, snapshot, limit), writing_health(place.root)
    if here.as_json:
        show_json({"transactions": [one.model_dump(mode="json") for one in changes], **health.model_dump(mode="json")})
        return
    show_table(
        ("at", "who", "what", "why", "tx_id"),
        ((one.at, one.actor, _what(one.states, one.entries, one.written), one.reason, one.tx_id) for one in changes),
    )
    for conflict in health.conflicts:
        note(conflict_sentence(conflict.model_dump()))


def show(
    context: typer.Context,
    resource: ResourceArgument,
    history: Annotated[bool, typer.Option("--history", help="Every version with its text, the oldest first.")] = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one resource, current or not: its status, who changed it when and why, and its text."""
    from workbench.memory.writing.history import resource_history

    here = session(context, project, as_json)
    place = here.project()
    found = resource_history(place.root, place.capture(), resource)
    if not history:
        found = found.model_copy(update={"versions": found.versions[-1:]})
    show_json(found) if here.as_json else _show_resource(found)


def conflict_sentence(conflict: dict[str, Any]) -> str:
    """What to do about a transaction that was set aside."""
    sources = ", ".join(conflict["sources"]) or "unknown sources"
    return (
        f"conflict: {conflict['file']} wanted to write {sources} and met a newer edit, which was kept; "
        "repeat what is still wanted, then remove that file."
    )


def _by(reason: str, tx: str | None) -> By:
    from workbench.memory.writing.entries import By

    return By("user", reason, tx)


def _text(file: Path | None) -> str:
    if file is None and sys.stdin.isatty():
        note("Type the text; Ctrl-D ends it.")
    try:
        text = read_text() if file is None else file.read_bytes().decode("utf-8")
        text.encode()
    except (OSError, UnicodeError) as error:
        raise InputError("invalid_argument", f"Give a UTF-8 text: {error}.") from error
    if not text.strip():
        raise InputError("invalid_argument", "The text is empty; give it on stdin or with --file.")
    return text


def _show_commit(here: Session, commit: Commit, sentence: str) -> None:
    if here.as_json:
        show_json(commit)
    else:
        say(f"{sentence}.")
        note(f"tx {commit.tx_id} · state {commit.record_state_version} · miv {commit.miv[:12]}")


def _what(states: dict[str, Any], entries: dict[str, str], written: dict[str, Any]) -> str:
    """Statuses first, since they are what people look for; then resources, then files that hold none."""
    lines = [f"{one} {step.after}" for one, step in states.items()]
    lines += [f"{one} {what}" for one, what in entries.items()]
    return "; ".join(lines or [f"{ref} written" for ref in written] or ["nothing changed"])


def _show_resource(found: ResourceHistory) -> None:
    successor = f" by {found.superseded_by}" if found.superseded_by else ""
    say(f"{found.resource_id}  {found.status}{successor}  {found.source_ref or 'no longer in the memory'}")
    for change in found.changes:
        say(f"{change.at}  {change.actor}  {change.before} → {change.after}  {change.reason}")
    for version in found.versions:
        say()
        say(f"— until {version.until}, {version.replaced_by} —" if version.until else "— now —")
        say(version.text)
