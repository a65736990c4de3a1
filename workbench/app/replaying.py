"""Wiring of a replay: its models by name, its index in a folder of its own, one replay of a project at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING

from workbench.app.engines import NO_MODEL
from workbench.core.errors import NotReady
from workbench.core.limits import resolve_limits
from workbench.core.progress import Progress, rising
from workbench.core.resource import Layer
from workbench.evaluation.figures import Note, Report, WarmLatency
from workbench.evaluation.judged import JudgedRun, ready_cases
from workbench.evaluation.replay import ReplayConfig, ReplayCorpus, Setting, plan_replay, replay
from workbench.evaluation.report import build_report
from workbench.evaluation.sets import Selection
from workbench.evaluation.warm import WarmClock
from workbench.index.borrowing import BorrowingEmbedder
from workbench.storage.locks import exclusive
from workbench.storage.project_index import ProjectIndex, index_path

if TYPE_CHECKING:
    from workbench.app.parts import HomeParts
    from workbench.models.base import Reranker

REPLAYS = "replay"
"""The folder in a home, laid out like a home, of the indexes that replays walk; it may be deleted at any time."""


SECTIONED = {Layer.LOG, Layer.REFLECTION}
NO_PAGE_TITLES = Note(
    code="no_page_titles",
    detail="Sections of logs and reflections are replayed without the title of their page, which is not archived with "
    "them; compare two replays, not a replay with its source runs, to see what a setting alone changes.",
)
Planned = tuple[tuple[str, tuple[ReplayCorpus, ...]], ...]
"""Project ids with the corpora to walk."""


def replayed(home: HomeParts, selection: Selection, config: ReplayConfig, progress: Progress) -> Iterator[JudgedRun]:
    """The ready cases of a selection, project by project, each retrieved anew with this configuration.

    Raises, at once: `limits_invalid`; `model_unknown`, `model_missing` or `model_invalid`; `run_corpus_incomplete`.
    Then as `evaluation.replay`, and `index_busy` while another replay of a project runs.
    """
    return _runs(home, _setting(home, config), _planned(home, selection, progress), progress)


def replay_report(home: HomeParts, selection: Selection, config: ReplayConfig, seed: int, progress: Progress) -> Report:
    """The report of a replay; its origin says with what. Raises: as `replayed`; `case_not_found` when none is ready."""
    setting, projects = _setting(home, config), _planned(home, selection, progress)
    origin = f"{selection.origin}, replayed over its frozen corpora with {config.said(home.settings)}"
    runs = _runs(home, setting, projects, progress)
    report = build_report(runs, origin=origin, seed=seed, progress=progress)
    sectioned = any(one.layers & SECTIONED for _, corpora in projects for one in corpora)
    return report.model_copy(update={"notes": (*report.notes, NO_PAGE_TITLES)}) if sectioned else report


def warm_latency(
    home: HomeParts, selection: Selection, config: ReplayConfig, repeats: int, progress: Progress
) -> WarmLatency:
    """How long the cases of a selection take once all is warm, with nothing else in this process. Raises: as above."""
    setting, projects = _setting(home, config), _planned(home, selection, progress)
    clock = WarmClock(repeats, _count(projects), rising(progress))
    for project_id, corpora in projects:
        with _replay_index(home, project_id) as index:
            clock.measure(index, _borrowing(home, project_id, setting), corpora)
    return clock.latency()


def _runs(home: HomeParts, setting: Setting, projects: Planned, progress: Progress) -> Iterator[JudgedRun]:
    """progress: those of the builds, and `replay` in cases."""
    total, done, building = _count(projects), 0, rising(progress)
    for project_id, corpora in projects:
        with _replay_index(home, project_id) as index:
            for run in replay(index, _borrowing(home, project_id, setting), corpora, building):
                yield run
                done += 1
                progress("replay", done, total)


def _count(projects: Planned) -> int:
    """How many cases there are."""
    return sum(len(one.cases) for _, corpora in projects for one in corpora)


def _planned(home: HomeParts, selection: Selection, progress: Progress) -> Planned:
    case_ids = ready_cases(home.store, selection.project_ids, selection.case_ids)
    corpora = plan_replay(home.cases, home.history, case_ids, progress)
    by_project = groupby(corpora, lambda one: one.project_id)
    return tuple((project_id, tuple(of_project)) for project_id, of_project in by_project)


def _setting(home: HomeParts, config: ReplayConfig) -> Setting:
    """The configuration with its models opened: one that is not there is an error."""
    resolve_limits({**home.settings.limits, **config.limits})
    settings = config.over(home.settings)
    return Setting(
        config,
        home.engines.open(settings.engine),
        _reranker(home, settings.reranker) if settings.cross_encoder else None,
        settings.lexical,
        home.settings.limits,
    )


def _borrowing(home: HomeParts, project_id: str, setting: Setting) -> Setting:
    """The setting whose engine takes the vectors that the project's own index has already."""
    if setting.embedder is None:
        return setting
    return setting._replace(embedder=BorrowingEmbedder(setting.embedder, index_path(home.folder, project_id)))


@contextmanager
def _replay_index(home: HomeParts, project_id: str) -> Iterator[ProjectIndex]:
    """The project's replay index, held against other replays. Raises: `index_busy`."""
    index = ProjectIndex(home.folder / REPLAYS, project_id)
    busy = NotReady("index_busy", f"Another replay of {project_id} is under way; try again when it is done.")
    try:
        with exclusive(index.folder / "replay.lock", busy):
            yield index
    finally:
        index.close()


def _reranker(home: HomeParts, name: str) -> Reranker | None:
    if name == NO_MODEL:
        return None
    if name == home.settings.reranker and home.reranker is not None:
        return home.reranker
    from workbench.models.open import open_reranker

    return open_reranker(name, home.models_folder, home.settings.threads)
