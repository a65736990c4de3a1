"""`activate`, `runs` and `explain`: asking, and looking back at what was asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import JsonOption, ProjectOption, Session, session
from workbench.cli.terminal import note, progress_bars, read_text, say, show_json, show_table, write_text
from workbench.core.activation import ActivationRequest, ActivationResult, Freshness
from workbench.core.errors import InputError, WorkbenchError
from workbench.core.text import counted

if TYPE_CHECKING:
    from workbench.app import Project
    from workbench.core.candidate import Candidate
    from workbench.core.run import RunRecord

RunArgument = Annotated[str, typer.Argument(help="The id of a run, or enough of its beginning.")]


def add_commands(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    app.command()(activate)
    app.command()(explain)
    runs = typer.Typer(help="The history of activations: list, `show ID`, `clear`.", invoke_without_command=True)
    runs.callback()(list_runs)
    runs.command("show")(show_run)
    runs.command("clear")(clear_runs)
    app.add_typer(runs, name="runs")


def activate(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for; `-` reads it from stdin.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
    state: Annotated[
        Path | None, typer.Option(help="File of the activation state: read where it exists, then written anew.")
    ] = None,
    limit_tokens: Annotated[int | None, typer.Option(help="Token budget of all fragments.")] = None,
    deadline: Annotated[int | None, typer.Option(help="Deadline in milliseconds.")] = None,
    no_rerank: Annotated[bool, typer.Option("--no-rerank", help="Keep the fused order.")] = False,
    no_refresh: Annotated[bool, typer.Option("--no-refresh", help="Answer from the index as it is.")] = False,
    freshness: Annotated[Freshness | None, typer.Option(help="Which revision answers during a build.")] = None,
) -> None:
    """Activate memory for a query: the fragments that fit the budget, best first."""
    here = session(context, project, as_json)
    place = here.project()
    request = ActivationRequest(
        query=read_text() if query == "-" else query,
        state=state.read_text(encoding="utf-8") if state and state.exists() else None,
        rerank=not no_rerank,
        deadline_ms=deadline,
        limits={} if limit_tokens is None else {"budget_tokens": limit_tokens},
        freshness=freshness,
    )
    place.home.warm()
    if not no_refresh:
        _refresh(here, place, freshness)
    result = place.activate(request)
    if state:
        write_text(state, result.state)
    if here.as_json:
        show_json(result)
    else:
        _show_result(result)


def explain(
    context: typer.Context,
    run: RunArgument,
    why: Annotated[str | None, typer.Option(help="A resource by id, path or title: where was it lost?")] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every candidate of a run with its ranks, its scores and why it was kept or dropped."""
    here = session(context, project, as_json)
    history = here.home().history
    record = history.get(run)
    if why is not None:
        answer = history.why(record, why)
        show_json(answer) if here.as_json else say(answer.sentence)
    elif here.as_json:
        show_json(record)
    else:
        _show_candidates(record)


def list_runs(
    context: typer.Context,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest first.")] = 20,
) -> None:
    """List the runs of the project, the newest first."""
    if context.invoked_subcommand is not None:
        context.obj = session(context, project, as_json)
        return
    here = session(context, project, as_json)
    place = here.project()
    runs = place.home.history.list(place.project_id, limit)
    if here.as_json:
        show_json([run.model_dump(mode="json") for run in runs])
        return
    show_table(
        ("run", "started", "state", "ms", "candidates", "fragments", "query"),
        (
            (
                run.run_id,
                run.started_at,
                run.error.code if run.error else run.state,
                None if run.latency_us is None else round(run.latency_us / 1000),
                run.candidate_count,
                run.fragment_count,
                run.query[:80],
            )
            for run in runs
        ),
    )


def show_run(
    context: typer.Context, run: RunArgument, project: ProjectOption = None, as_json: JsonOption = False
) -> None:
    """Show one run: what was asked, what answered, and the fragments that went out."""
    here = session(context, project, as_json)
    record = here.home().history.get(run)
    if here.as_json:
        show_json(record)
    else:
        _show_run(record)


def clear_runs(context: typer.Context, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Remove the project's runs, but none that a case refers to."""
    here = session(context, project, as_json)
    place = here.project()
    removed = place.home.history.clear(place.project_id)
    show_json({"removed": removed}) if here.as_json else say(f"{counted(removed, 'run')} removed.")


def _refresh(here: Session, place: Project, freshness: Freshness | None) -> None:
    """Bring the index up to date; where that cannot be done now, the last head answers and its answer says why.

    Raises: `InputError`, which only the person can mend; anything while there is no head.
    """
    try:
        with progress_bars(quiet=here.as_json) as progress:
            place.refresh(freshness=freshness, progress=progress)
    except InputError:
        raise
    except WorkbenchError:
        if place.index.head() is None:
            raise


def _show_result(result: ActivationResult) -> None:
    for place, fragment in enumerate(result.fragments, start=1):
        heading = " › ".join((fragment.path, *fragment.heading_path))
        say(f"{place}. {heading}  [{fragment.delta_action}, {fragment.tokens} tokens]")
        if fragment.text is not None:
            say("".join(f"   {line}\n" for line in fragment.text.splitlines()))
    for removal in result.remove:
        say(f"remove {removal.unit_key}: {removal.reason}")
    if not result.fragments:
        say("No fragment.")
    note(f"run {result.run_id or 'not recorded'} · {result.ordering} · revision {result.index.revision}")
    for degradation in result.degradations:
        note(f"{degradation.code}: {degradation.detail}")


def _show_run(record: RunRecord) -> None:
    run = record.summary
    say(f"run {run.run_id}  {run.state}  {run.started_at}")
    say(f"query: {run.query}")
    if run.error:
        say(f"error: {run.error.code} in {run.error.stage}: {run.error.summary}")
    if run.index:
        arms = ", ".join(run.index.arms)
        say(f"index: revision {run.index.revision}, {arms}; corpus of {record.corpus_size} resources")
    for degradation in run.degradations:
        say(f"degradation: {degradation.code} {degradation.detail}")
    show_table(("stage", "ms"), ((stage, micros / 1000) for stage, micros in run.stage_us.items()))
    show_table(
        ("fragment", "tokens", "action"), ((one.unit_key, one.tokens, one.delta_action) for one in record.fragments)
    )


def _show_candidates(record: RunRecord) -> None:
    say(f"run {record.summary.run_id}: {record.summary.query}")
    show_table(
        ("final", "unit", "exact", "bm25", "dense", "cosine", "rrf", "rerank", "became"),
        (_candidate_row(candidate) for candidate in record.trace.candidates),
    )


def _candidate_row(candidate: Candidate) -> tuple[str | int | float | None, ...]:
    return (
        candidate.final_rank,
        candidate.unit_key,
        candidate.exact_rank,
        candidate.bm25_rank,
        candidate.vector_rank,
        candidate.vector_score,
        candidate.rrf_rank,
        candidate.rerank_rank,
        candidate.exclusion_reason or candidate.disposition,
    )
