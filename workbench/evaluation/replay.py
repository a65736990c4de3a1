"""Replay: the real pipeline anew over each case's frozen corpus, with any engine, budget or switch.

One index a project walks from corpus to corpus, so that each costs what differs from the one before. It is a cache of
its own: the project's index, the memory and the history are never written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from time import perf_counter
from typing import NamedTuple

from pydantic import Field

from workbench.core.activation import ActivationRequest
from workbench.core.case import Case, CaseState, EvidenceRef
from workbench.core.deadline import Deadline
from workbench.core.errors import ModelError, StorageError
from workbench.core.limits import Limits, resolve_limits
from workbench.core.progress import Progress, no_progress
from workbench.core.resource import Layer
from workbench.core.settings import Lexical, Settings
from workbench.core.wire import Wire
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.figures import Comparison, Report
from workbench.evaluation.frozen import FrozenCorpus
from workbench.evaluation.frozen_snapshot import FrozenSnapshot
from workbench.evaluation.judged import JudgedRun, ranked_units
from workbench.evaluation.runs import RunHistory
from workbench.index.builder import build_index
from workbench.memory.state import StateManifest
from workbench.models.base import Embedder, Reranker
from workbench.retrieval.answer import Activation
from workbench.retrieval.degradation import Degraded
from workbench.retrieval.pipeline import Retriever
from workbench.storage.project_index import ProjectIndex

PATIENCE_MS = 600_000
"""Nobody waits for the answer: no stage is to stop early, whatever the machine."""


class ReplayConfig(Wire):
    """What differs from the home's settings and from what the source run asked; null or left out: nothing.

    engine, reranker: as in the settings, `none` for none. limits: laid over those of the home and of the source run.
    """

    engine: str | None = None
    lexical: Lexical | None = None
    cross_encoder: bool | None = None
    reranker: str | None = None
    limits: dict[str, int] = Field(default_factory=dict)

    def over(self, settings: Settings) -> Settings:
        """The settings with what differs; their limits stay, since the source run's come between."""
        return settings.model_copy(update=self.model_dump(exclude_none=True, exclude={"limits"}))

    def said(self, settings: Settings) -> str:
        """The whole setting on one line, for people."""
        whole = self.over(settings)
        reranker = f"cross-encoder {whole.reranker}" if whole.cross_encoder else "no cross-encoder"
        limits = [f"{name} {value}" for name, value in (settings.limits | self.limits).items()]
        return ", ".join((f"engine {whole.engine}", f"lexical {whole.lexical}", reranker, *limits))


class ReplayOutcome(Wire):
    """A replay beside the runs that its cases were made from. comparison: from the source runs to the replay."""

    config: ReplayConfig
    source: Report
    replayed: Report
    comparison: Comparison


class Setting(NamedTuple):
    """A configuration with its models opened. limits: those of the home."""

    config: ReplayConfig
    embedder: Embedder | None
    reranker: Reranker | None
    lexical: Lexical
    limits: Mapping[str, int]

    def limits_of(self, request: ActivationRequest) -> Limits:
        """Those of the home, under those of the source run, under those of the replay."""
        return resolve_limits({**self.limits, **request.limits, **self.config.limits})

    def asked(self, request: ActivationRequest) -> ActivationRequest:
        """The source run's request as this setting asks it: a named switch wins; no file is there to verify against."""
        rerank = request.rerank if self.config.cross_encoder is None else self.config.cross_encoder
        return request.model_copy(update={"rerank": rerank, "verify": False})


class ReplayCase(NamedTuple):
    """A ready case and what its source run asked."""

    case: Case
    request: ActivationRequest


class ReplayCorpus(NamedTuple):
    """The cases to be asked over one frozen corpus. open: the corpus, which is large; layers: those it has."""

    project_id: str
    open: Callable[[], FrozenCorpus]
    layers: frozenset[Layer]
    cases: tuple[ReplayCase, ...]


Ask = Callable[[ReplayCase], tuple[Activation, int]]
"""One activation over the corpus that the index holds now, and the microseconds that it took."""


def plan_replay(
    book: CaseBook, history: RunHistory, case_ids: Sequence[str], progress: Progress = no_progress
) -> tuple[ReplayCorpus, ...]:
    """The corpora of these cases in their order; cases of one corpus that follow each other share it.

    Cases that are not ready (any more) are left out. Every body is read and checked before anything is replayed.
    progress: phase `verify` in cases.
    Raises: `StorageError("run_corpus_incomplete")` with every resource that cannot be read, and the case that needs it.
    """
    ready = [case for case in map(book.get, case_ids) if case.state is CaseState.READY]
    asked = [(case, history.asked(case.run_id)) for case in ready]
    corpora: list[ReplayCorpus] = []
    seen: set[str] = set()
    findings: list[str] = []
    for (project_id, _), group in groupby(asked, lambda one: (one[0].project_id, one[1].manifest)):
        cases = tuple(ReplayCase(case, run.request) for case, run in group)
        corpus = book.frozen(cases[0].case)
        findings += _unreadable(corpus, cases[0].case, seen)
        layers = frozenset(entry.layer for entry in corpus.entries)
        corpora.append(ReplayCorpus(project_id, partial(book.frozen, cases[0].case), layers, cases))
        progress("verify", sum(len(one.cases) for one in corpora), len(asked))
    if findings:
        message = f"{len(findings)} bodies of the chosen cases cannot be read, the first: {findings[0]}"
        raise StorageError("run_corpus_incomplete", f"{message} Leave out the cases that need them.", detail=findings)
    return tuple(corpora)


def replay(
    index: ProjectIndex, setting: Setting, corpora: Sequence[ReplayCorpus], progress: Progress = no_progress
) -> Iterator[JudgedRun]:
    """The cases of one project in order, each retrieved anew. progress: those of the builds.

    Raises: as `build_index` and `Retriever.activate`; `ModelError("model_invalid")` when a part of the setting could
    not serve, since the result would then be judged as what it is not.
    """
    for cases, corpus, ask in walk(index, setting, corpora, progress):
        hashes = {entry.resource_id: entry.resource_hash for entry in corpus.entries}
        for case in cases:
            activation, latency_us = ask(case)
            yield _judged(case.case, activation, hashes, latency_us)


def walk(
    index: ProjectIndex, setting: Setting, corpora: Sequence[ReplayCorpus], progress: Progress = no_progress
) -> Iterator[tuple[tuple[ReplayCase, ...], FrozenCorpus, Ask]]:
    """Make each corpus the index's head in turn, and give its cases and the way to ask them until the next one."""
    retriever = Retriever(
        index,
        embedder=setting.embedder,
        reranker=setting.reranker,
        manifest=StateManifest,  # a frozen corpus holds what was current then
        lexical=setting.lexical,
    )

    def ask(case: ReplayCase) -> tuple[Activation, int]:
        request, limits = setting.asked(case.request), setting.limits_of(case.request)
        started = perf_counter()
        activation = retriever.activate(request, limits, Deadline.after_ms(PATIENCE_MS))
        latency_us = round((perf_counter() - started) * 1_000_000)
        _check_served(case.case, setting, activation)
        return activation, latency_us

    for one in corpora:
        corpus = one.open()
        snapshot = FrozenSnapshot(one.project_id, corpus, index.stamps())
        trigram = setting.lexical is Lexical.CONTRACT
        build_index(index, snapshot, setting.embedder, trigram=trigram, progress=progress)
        yield one.cases, corpus, ask


def _unreadable(corpus: FrozenCorpus, case: Case, seen: set[str]) -> Iterator[str]:
    """Every body that is missing or damaged, with the first case that needs it. seen: hashes, each looked at once."""
    for entry in corpus.entries:
        if entry.resource_hash not in seen:
            seen.add(entry.resource_hash)
            try:
                corpus.read(entry.resource_id)
            except StorageError as error:
                yield f"case {case.case_id}: {entry.resource_id}: {error.message}"


def _check_served(case: Case, setting: Setting, activation: Activation) -> None:
    expected = {Degraded.RERANK_LANGUAGE} | (set() if setting.embedder else {Degraded.DENSE_UNAVAILABLE})
    for note in activation.result.degradations:
        if note.code not in expected:
            message = f"The case {case.case_id} was not retrieved as set ({note.code}: {note.detail})"
            raise ModelError("model_invalid", f"{message}; see `workbench doctor`.", stage="replay")


def _judged(case: Case, activation: Activation, corpus: Mapping[str, str], latency_us: int) -> JudgedRun:
    return JudgedRun(
        case_id=case.case_id,
        run_id=case.run_id,
        project_id=case.project_id,
        query=case.query,
        evidence=tuple(EvidenceRef(resource_id=one.resource_id, unit_key=one.unit_key) for one in case.evidence),
        ranked=ranked_units(activation.trace),
        fragments=tuple((one.unit_key, one.resource_id) for one in activation.result.fragments),
        corpus=corpus,
        latency_us=latency_us,
        engine=activation.result.index.engine,
    )
