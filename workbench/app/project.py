"""One project: its index, its retriever, and one activation after another."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING
from uuid import uuid4

from workbench.app.parts import HomeParts
from workbench.core.activation import ActivationRequest, ActivationResult, Freshness
from workbench.core.deadline import Deadline
from workbench.core.errors import InputError, WorkbenchError
from workbench.core.hashing import sha256_hex
from workbench.core.limits import Limits, resolve_limits
from workbench.core.progress import Progress, no_progress
from workbench.core.resource import Degradation, Layer, Scope, SnapshotRef, SourceStamp
from workbench.core.run import RunError
from workbench.core.settings import Lexical
from workbench.memory.manifest import ManifestReader
from workbench.models.base import Embedder
from workbench.retrieval.degradation import Degraded
from workbench.retrieval.pipeline import Retriever
from workbench.retrieval.query import normal_query
from workbench.storage.corpus_table import CorpusEntry
from workbench.storage.index_records import IndexedResource, IndexedUnit, Revision
from workbench.storage.project_index import ProjectIndex

if TYPE_CHECKING:
    from workbench.app.whiteboard import Whiteboard
    from workbench.index.report import BuildReport
    from workbench.index.transfer import Sender
    from workbench.memory.snapshot import MemorySnapshot
    from workbench.memory.writing.gate import Commit, WriteGate

MOST_RESTARTS = 3
CANCELLED_MESSAGE = "The caller cancelled this activation, or went away."


class Project:
    """One memory root with its index, its retriever and its history.

    kept_fresh: whether this process builds the index whenever something changes; set by whoever sees to that.
    """

    def __init__(self, home: HomeParts, root: Path) -> None:
        if not root.expanduser().is_dir():
            raise InputError("project_unknown", f"There is no folder {root}; name the folder that holds the memory.")
        self.home, self.root = home, root.expanduser().resolve()
        self.project_id = project_id_of(self.root)
        self.engine_name = home.settings.engine
        self.known: SnapshotRef | None = None
        self.refresh_failure: Degradation | None = None
        self.kept_fresh = False

    @cached_property
    def index(self) -> ProjectIndex:
        """The project's index database, made on first use."""
        return ProjectIndex(self.home.folder, self.project_id)

    @property
    def embedder(self) -> Embedder | None:
        """The engine that revisions are built by; None when it is `none` or not installed by now."""
        return self.home.engines.get(self.engine_name)

    def switch_engine(self, name: str) -> None:
        """Build by another engine from the next refresh on. Until that is done, the old head answers.

        Under `ready_head` it answers in full, with its own engine; under `latest` by words.
        Raises: `InputError("model_unknown")`; `ModelError("model_missing" | "model_invalid")`; nothing is changed then.
        """
        self.home.engines.open(name)
        self.engine_name = name

    @cached_property
    def manifest(self) -> ManifestReader:
        """The status of every resource, read again when its file changed."""
        return ManifestReader(self.root, self._seen_state_version)

    @cached_property
    def retriever(self) -> Retriever:
        """The activation pipeline over this project's index."""
        return Retriever(
            self.index,
            embedder=self.embedder,
            reranker=self.home.reranker,
            manifest=self.manifest,
            lexical=self.home.settings.lexical,
            block_reader=self.read_block,
            patient=self.home.patient,
        )

    @cached_property
    def gate(self) -> WriteGate:
        """The only way to change this memory; what it commits is the snapshot that is known from then on."""
        from workbench.app.writing import Captures, open_gate

        captures = Captures(self.index, lambda stamps: self.capture(stamps=stamps))
        gate = open_gate(self.root, self.project_id, self.home.settings, captures)
        gate.on_commit.append(self._know)
        return gate

    @cached_property
    def whiteboard(self) -> Whiteboard:
        """The whiteboard pages of this memory."""
        from workbench.app.whiteboard import Whiteboard

        return Whiteboard(self.gate)

    def capture(
        self, progress: Progress = no_progress, *, stamps: Mapping[str, SourceStamp] | None = None
    ) -> MemorySnapshot:
        """The memory as it is now; files that did not change are not read again. stamps: instead of the index's."""
        from workbench.memory.snapshot import capture_snapshot

        limits = resolve_limits(self.home.settings.limits)
        return capture_snapshot(
            self.root,
            self.project_id,
            self.index.stamps() if stamps is None else stamps,
            limits,
            progress,
            seen_state_version=self._seen_state_version(),
        )

    def refresh(
        self,
        *,
        freshness: Freshness | None = None,
        deadline: Deadline | None = None,
        progress: Progress = no_progress,
    ) -> BuildReport:
        """Bring the index up to the memory as it is now, and archive what it holds; nothing when nothing changed.

        A file that changes while it is read starts the refresh over, a few times. Raises: as `capture_snapshot` and
        `build_index`; the old head answers on, and every answer says `index_refresh_failed` until a refresh succeeds
        (not when the deadline was cancelled).
        """
        try:
            report = self._refresh_restarting(freshness, deadline, progress)
        except WorkbenchError as error:
            if deadline is not None and deadline.cancelled.is_set():
                raise
            self.refresh_failure = Degradation(Degraded.INDEX_REFRESH_FAILED, f"{error.code}: {error.outline}")
            raise
        self.refresh_failure = None
        return report

    def sender(self) -> Sender:
        """A sending end for one index elsewhere, which it remembers the state of: changes, or everything every time."""
        from workbench.index.transfer import Sender

        return Sender(delta=self.home.settings.index_delta_sync)

    def activate(self, request: ActivationRequest, deadline: Deadline | None = None) -> ActivationResult:
        """One activation over the head as it is, recorded in the history.

        deadline: instead of the request's own; when its caller cancels it, the run fails as `cancelled`.
        Raises: `WorkbenchError` with a stable code; a request that passed basic validation is then a failed run.
        """
        limits = resolve_limits({**self.home.settings.limits, **request.limits})
        normal_query(request.query, limits.query_chars)
        deadline = deadline or Deadline.after_ms(_deadline_ms(request, limits))
        started = perf_counter()
        key = request.request_key or uuid4().hex
        request = request.model_copy(update={"request_key": key})
        run_id = self.home.history.begin(self.project_id, request, key)
        try:
            activation = self.retriever.activate(
                request,
                limits,
                deadline,
                current=self.known,
                degradations=self._degradations(),
                engine_of=partial(self._engine_of, request.freshness or self.home.settings.freshness),
                kept_fresh=self.kept_fresh,
            )
            if deadline.cancelled.is_set():
                raise WorkbenchError("cancelled", CANCELLED_MESSAGE)
        except Exception as error:
            self.home.history.fail(run_id, _run_error(error, deadline), latency_us=_micros_since(started))
            raise
        result = activation.result.model_copy(update={"run_id": run_id})
        recorded = self.home.history.succeed(run_id, result, activation.trace, _micros_since(started))
        return result if recorded else result.model_copy(update={"run_id": None})

    def read_block(self, unit: IndexedUnit) -> bytes | None:
        """The bytes of a unit as they are on disk now; None when they are not what the index holds."""
        from workbench.memory.snapshot import read_verified_block

        return read_verified_block(self.capture(), unit)

    def _degradations(self) -> tuple[Degradation, ...]:
        """What is known to be lacking before any query."""
        failure = () if self.refresh_failure is None else (self.refresh_failure,)
        return (*failure, *self.home.engines.lack(self.engine_name))

    def _engine_of(self, freshness: Freshness, head: Revision) -> Embedder | None:
        """The engine of a query over this head: the project's, or the head's own while the project's is built."""
        wanted = self.embedder
        if wanted is None or freshness is Freshness.LATEST or wanted.identity.digest == head.engine_identity:
            return wanted
        return self.home.engines.of(head) or wanted

    def _refresh_restarting(
        self, freshness: Freshness | None, deadline: Deadline | None, progress: Progress
    ) -> BuildReport:
        from workbench.memory.snapshot import SourceMoved

        for _ in range(MOST_RESTARTS):
            with suppress(SourceMoved):
                return self._refresh_once(freshness, deadline, progress)
        return self._refresh_once(freshness, deadline, progress)

    def _refresh_once(self, freshness: Freshness | None, deadline: Deadline | None, progress: Progress) -> BuildReport:
        from workbench.index.builder import build_index

        settings, started = self.home.settings, perf_counter()
        snapshot = self.capture(progress)
        captured = perf_counter()
        self.known = snapshot.ref
        report = build_index(
            self.index,
            snapshot,
            self.embedder,
            trigram=settings.lexical is Lexical.CONTRACT,
            reuse=settings.embedding_cache,
            lexical_first=(freshness or settings.freshness) is Freshness.LATEST,
            deadline=deadline,
            progress=progress,
        )
        built = perf_counter()
        self._archive(progress)
        seconds = {"capture": captured - started, **report.seconds, "archive": perf_counter() - built}
        return report.model_copy(update={"seconds": {phase: round(taken, 3) for phase, taken in seconds.items()}})

    def _archive(self, progress: Progress) -> None:
        """Keep what the head holds for runs and cases; costs nothing when the history has this corpus already.

        progress: phase `archive` in bodies, of at most as many as there are resources.
        """
        with self.index.reader() as reader:
            if reader.revision is None:
                return
            count, archived = reader.revision.resource_count, itertools.count(1)

            def read(resource_id: str) -> IndexedResource | None:
                progress("archive", min(next(archived), count), count)
                return reader.resource(resource_id)

            entries = map(_corpus_entry, reader.corpus())
            self.home.history.record_corpus(self.project_id, reader.revision.miv, entries, read)

    def _know(self, commit: Commit) -> None:
        self.known = SnapshotRef(self.project_id, commit.miv, commit.record_state_version)

    def _seen_state_version(self) -> int:
        """The state of the memory that the head was built with; 0 without a head."""
        head = self.index.head()
        return head.record_state_version if head else 0


def project_id_of(root: Path) -> str:
    """A readable, stable id of a memory root: its folder name and ten digits of the hash of its real path."""
    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-")[:40] or "memory"
    return f"{slug}-{sha256_hex(str(root))[:10]}"


def _deadline_ms(request: ActivationRequest, limits: Limits) -> int:
    """The request's deadline, at most the limit's. Raises: `invalid_argument` when it leaves no time at all."""
    if request.deadline_ms is None:
        return limits.deadline_ms
    if request.deadline_ms < 1:
        raise InputError("invalid_argument", f"deadline_ms is {request.deadline_ms}; give at least 1 millisecond.")
    return min(request.deadline_ms, limits.deadline_ms)


def _corpus_entry(row: tuple[str, str, str, str, str, str, str]) -> CorpusEntry:
    resource_id, resource_hash, layer, scope, kind, path, title = row
    return CorpusEntry(resource_id, resource_hash, Layer(layer), Scope(scope), kind, path, title)


def _run_error(error: Exception, deadline: Deadline) -> RunError:
    if deadline.cancelled.is_set():
        return RunError.bounded(getattr(error, "stage", None) or "retrieval", "cancelled", CANCELLED_MESSAGE)
    if isinstance(error, WorkbenchError):
        return RunError.bounded(error.stage or "retrieval", error.code, error.message)
    return RunError.bounded("retrieval", "internal", type(error).__name__)


def _micros_since(started: float) -> int:
    return round((perf_counter() - started) * 1_000_000)
