"""The isolated warm benchmark: every query of the cases again and again, in one process that does nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from workbench.core.errors import InputError
from workbench.core.progress import Progress, no_progress
from workbench.evaluation.figures import Percentiles, WarmLatency
from workbench.evaluation.replay import ReplayCorpus, Setting, walk
from workbench.storage.project_index import ProjectIndex


class WarmClock:
    """Gathers the times of one setting over any number of projects.

    repeats: counted rounds, at least 1. cases: of all projects together. progress: those of the builds, `warm` in
    answers.
    """

    def __init__(self, repeats: int, cases: int, progress: Progress = no_progress) -> None:
        if repeats < 1:
            raise InputError("invalid_argument", f"Repeat each query at least once, not {repeats} times.")
        self._repeats, self._progress = repeats, progress
        self._asked, self._to_ask = 0, cases * (repeats + 1)
        self._whole: list[int] = []
        self._stages: defaultdict[str, list[int]] = defaultdict(list)
        self._sizes: list[int] = []
        self._setting: Setting | None = None

    def measure(self, index: ProjectIndex, setting: Setting, corpora: Sequence[ReplayCorpus]) -> None:
        """Ask the cases of one project in rounds, so that drift of the machine meets them alike."""
        self._setting = setting
        for cases, corpus, ask in walk(index, setting, corpora, self._progress):
            self._sizes.append(len(corpus.entries))
            for number in range(self._repeats + 1):
                for case in cases:
                    activation, latency_us = ask(case)
                    if number > 0:
                        self._whole.append(latency_us)
                        for stage, micros in activation.result.stage_us.items():
                            self._stages[stage].append(micros)
                    self._asked += 1
                    self._progress("warm", self._asked, self._to_ask)

    def latency(self) -> WarmLatency:
        """What was measured. Raises: `InputError("case_not_found")` when there was no case to ask."""
        if not self._whole or self._setting is None:
            raise InputError("case_not_found", "No case is ready; confirm evidence of one, or import a set.")
        embedder = self._setting.embedder
        return WarmLatency(
            repeats=self._repeats,
            cases=len(self._whole) // self._repeats,
            corpora=len(self._sizes),
            resources=(min(self._sizes), max(self._sizes)),
            engine=embedder.identity.name if embedder else None,
            reranked=self._setting.reranker is not None,
            whole=_percentiles(self._whole),
            stages={stage: _percentiles(times) for stage, times in self._stages.items()},
        )


def _percentiles(times: Sequence[int]) -> Percentiles:
    """By nearest rank: each is a time that was measured."""
    ordered = sorted(times)
    at = [ordered[-(-len(ordered) * share // 100) - 1] for share in (50, 95)]
    return Percentiles(p50_us=at[0], p95_us=at[1])
