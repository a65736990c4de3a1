"""`case`: freeze a run, look at what it found, and confirm which of it is relevant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import JsonOption, ProjectOption, Session, session
from workbench.cli.search import RunArgument
from workbench.cli.selection import CaseOption, SetOption, chosen
from workbench.cli.terminal import note, progress_bars, say, show_json, show_table
from workbench.core.case import CaseState

if TYPE_CHECKING:
    from workbench.app import Home
    from workbench.core.candidate import Candidate
    from workbench.core.case import Case

CaseArgument = Annotated[str, typer.Argument(help="The id of a case, or enough of its beginning.")]


def add_commands(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    case = typer.Typer(
        help="Evaluation cases: `create RUN`, `list`, `show CASE`, `resolve CASE`.", no_args_is_help=True
    )
    case.command("create")(create_case)
    case.command("list")(list_cases)
    case.command("show")(show_case)
    case.command("resolve")(resolve_case)
    app.add_typer(case, name="case")


def create_case(
    context: typer.Context, run: RunArgument, project: ProjectOption = None, as_json: JsonOption = False
) -> None:
    """Freeze a run's query, corpus and candidates into a case; a run has one, which is then shown again."""
    here = session(context, project, as_json)
    home = here.home()
    with progress_bars(quiet=here.as_json) as progress:
        case = home.cases.create(run, progress)
    _show(here, home, case)


def list_cases(
    context: typer.Context,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    set_name: SetOption = None,
    case_ids: CaseOption = None,
    state: Annotated[list[CaseState] | None, typer.Option(help="Only in this state; may be repeated.")] = None,
) -> None:
    """List the cases of the project, of an imported set, or some by id; the oldest first."""
    here = session(context, project, as_json)
    home = here.home()
    selection = chosen(here, home, set_name, case_ids)
    wanted = None if selection.case_ids is None else frozenset(selection.case_ids)
    cases = [case for case in home.cases.list(selection.project_ids, state) if wanted is None or case.case_id in wanted]
    if here.as_json:
        show_json([case.model_dump(mode="json") for case in cases])
        return
    show_table(
        ("case", "created", "state", "version", "evidence", "query"),
        (
            (case.case_id, case.created_at, case.state, case.version, case.evidence_count, case.query[:80])
            for case in cases
        ),
    )


def show_case(
    context: typer.Context, case: CaseArgument, project: ProjectOption = None, as_json: JsonOption = False
) -> None:
    """Show a case: its query, what is confirmed, and the candidates of its run to confirm from."""
    here = session(context, project, as_json)
    home = here.home()
    _show(here, home, home.cases.get(case))


def resolve_case(
    context: typer.Context,
    case: CaseArgument,
    version: Annotated[int, typer.Option(help="The version that you looked at; another one is refused.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
    evidence: Annotated[
        list[str] | None,
        typer.Option(help="What is relevant: the id of a resource or the key of a candidate unit; may be repeated."),
    ] = None,
    rank: Annotated[
        list[int] | None, typer.Option(help="The same by a candidate's final rank; may be repeated.")
    ] = None,
    none_matched: Annotated[
        bool, typer.Option("--none-matched", help="Nothing in the frozen corpus is relevant.")
    ] = False,
) -> None:
    """Replace all evidence of a case by what is given, or say that nothing matched."""
    here = session(context, project, as_json)
    cases = here.home().cases
    known = cases.get(case)
    refs = cases.named(known, evidence or (), rank or ())
    resolved = cases.resolve(known.case_id, version, refs, none_matched)
    if here.as_json:
        show_json(resolved)
    else:
        _show_head(resolved)


def _show(here: Session, home: Home, case: Case) -> None:
    if here.as_json:
        show_json(case)
        return
    _show_head(case)
    whole = {one.resource_id for one in case.evidence if one.unit_key is None}
    units = {one.unit_key for one in case.evidence}

    def mark(candidate: Candidate) -> str:
        if candidate.unit_key in units:
            return "this unit"
        return "its resource" if candidate.resource_id in whole else ""

    candidates = home.history.get(case.run_id).trace.candidates
    show_table(
        ("rank", "confirmed", "unit", "excerpt"),
        ((one.final_rank, mark(one), one.unit_key, one.excerpt[:80]) for one in candidates),
    )
    note(f"Confirm with `workbench case resolve {case.case_id[:8]} --version {case.version} --rank N`.")


def _show_head(case: Case) -> None:
    say(f"case {case.case_id}  {case.state}, version {case.version}, of run {case.run_id}")
    say(f"query: {case.query}")
    for one in case.evidence:
        say(f"evidence: {one.unit_key or one.resource_id}")
        say(f"    {one.excerpt}")
