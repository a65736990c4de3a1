"""The history of retrievals, best effort: it records what happened and never stands in the way of an answer.

Every run goes from `running` to one final state. What writes returns a value that says "not recorded" and logs why;
what reads raises.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from workbench.core.activation import ActivationRequest, ActivationResult, IndexState
from workbench.core.clock import Clock, time_text, utc_now
from workbench.core.limits import LIMIT_FIELDS
from workbench.core.resource import Status
from workbench.core.run import RunError, RunRecord, RunSummary, Trace
from workbench.storage.blobs import BlobStore
from workbench.storage.central_store import CentralStore
from workbench.storage.corpus_table import CorpusEntry, CorpusTable, Reader
from workbench.storage.process_mark import ProcessMark
from workbench.storage.run_pages import ANY_RUN, RunCounts, RunFilter, RunPage, RunPages
from workbench.storage.run_table import ArmHits, AskedRun, RunTable

if TYPE_CHECKING:
    from workbench.evaluation.explain import Whereabouts

INTERRUPTED = RunError(
    stage="retrieval", code="retrieval_interrupted", summary="The process ended before this retrieval did."
)
UNWRITTEN = RunError(
    stage="history", code="retrieval_interrupted", summary="The retrieval ended, but its end could not be written."
)
_log = logging.getLogger(__name__)
T = TypeVar("T")


class RunHistory:
    """The runs of every project of one home. Thread-safe; any number of processes may share the home.

    clock: the time of day, in UTC. retained: unpinned ended runs kept for one project; the oldest go first.
    """

    def __init__(
        self,
        store: CentralStore,
        blobs: BlobStore,
        clock: Clock = utc_now,
        *,
        retained: int = LIMIT_FIELDS["retained_runs"].default,
    ) -> None:
        self._store, self._clock, self._retained = store, clock, retained
        self._runs, self._pages, self._corpora = RunTable(store), RunPages(store), CorpusTable(store, blobs)
        self._mark = ProcessMark(store.path.parent / "running")
        self._unended: set[str] = set()

    def begin(self, project_id: str, request: ActivationRequest, request_key: str) -> str | None:
        """Record that a retrieval began; its run id, or None when it could not be recorded."""
        run_id = uuid.uuid4().hex

        def write() -> str:
            self._runs.begin(run_id, project_id, request, request_key, self._mark.hold(), self._now())
            self._end_unended()
            return run_id

        return self._best_effort(write, None)

    def succeed(self, run_id: str | None, result: ActivationResult, trace: Trace, latency_us: int) -> bool:
        """End a run with what the pipeline returned; whether it was recorded."""
        if run_id is None:
            return False
        return self._end(run_id, lambda: self._runs.succeed(run_id, result, trace, latency_us, self._retained))

    def fail(
        self,
        run_id: str | None,
        error: RunError,
        *,
        latency_us: int | None = None,
        index: IndexState | None = None,
        stage_us: Mapping[str, int] | None = None,
    ) -> bool:
        """End a run with a bounded error and what was known by then; whether it was recorded."""
        if run_id is None:
            return False

        def write() -> bool:
            return self._runs.fail(
                run_id, error, self._retained, latency_us=latency_us, index=index, stage_us=stage_us or {}
            )

        return self._end(run_id, write)

    def recover(self) -> int:
        """Turn the running runs of processes that ended into `retrieval_interrupted`. Returns how many.

        Runs of a living process, this one included, are left alone.
        """
        return self._best_effort(self._recover, 0)

    def record_corpus(self, project_id: str, miv: str, resources: Iterable[CorpusEntry], read: Reader) -> int | None:
        """Make the resources of a new head the project's latest corpus manifest and archive their bodies.

        To be called after every refresh: nothing is iterated or read when this miv is the latest already. read: the
        resource with an id, asked only for bodies not archived yet. Returns the manifest's number; None: not recorded.
        """
        return self._best_effort(lambda: self._corpora.record(project_id, miv, resources, read, self._now()), None)

    def list(self, project_id: str, limit: int) -> tuple[RunSummary, ...]:
        """The project's runs, the newest first. Raises: `StorageError`."""
        return self._runs.list(project_id, limit)

    def page(
        self, project_ids: Sequence[str], size: int, *, chosen: RunFilter = ANY_RUN, behind: int | None = None
    ) -> RunPage:
        """A page of the runs of some projects, the newest first. behind: the place of the last run of the page before.

        Raises: `StorageError`.
        """
        return self._pages.page(project_ids, size, chosen, behind)

    def counts(self, project_ids: Sequence[str]) -> RunCounts:
        """How many runs these projects have, of which kind, and how many `clear` would remove."""
        return self._pages.counts(project_ids)

    def arms(self, project_id: str, depth: int = 10) -> dict[str, ArmHits]:
        """run_id -> how far the two arms agree on their first `depth`, for the project's runs with any candidate."""
        return self._runs.arms(project_id, depth)

    def get(self, run_id: str) -> RunRecord:
        """A run by its id or by any beginning of it that no other run shares.

        Raises: `InputError("run_not_found")`, `InputError("invalid_argument")` for a beginning that several share.
        """
        return self._runs.get(run_id)

    def asked(self, run_id: str) -> AskedRun:
        """What a run asked, and of which corpus. Raises: `InputError("run_not_found")`."""
        return self._runs.asked(run_id)

    def corpus(self, record: RunRecord) -> tuple[CorpusEntry, ...]:
        """The resources that a run searched, by resource_id; empty when its corpus was not recorded."""
        if record.manifest is None:
            return ()
        return self._corpora.entries(record.summary.project_id, record.manifest)

    def why(
        self, record: RunRecord, resource: str, status: Callable[[str], Status] = lambda _: Status.CURRENT
    ) -> Whereabouts:
        """Where a resource (by id, path or title) was lost in a run. status: its status now, by resource id."""
        from workbench.evaluation.explain import why

        return why(record, resource, self.corpus(record), status)

    def clear(self, *project_ids: str) -> int:
        """Delete the projects' runs that no case refers to, and bodies that nothing needs any more; how many runs.

        Runs in progress stay. Raises: `StorageError`.
        """
        cleared = self._runs.clear(project_ids)
        self._corpora.collect()
        return cleared

    def close(self) -> None:
        """Let go of the store; runs of this object that are still running count as interrupted from now on."""
        self._store.close()
        self._mark.release()

    def _end(self, run_id: str, write: Callable[[], bool]) -> bool:
        ended = self._best_effort(write, None)
        if ended is None:
            self._unended.add(run_id)
        return ended or False

    def _end_unended(self) -> None:
        """End the runs whose own end could not be written, now that writing works again."""
        for run_id in tuple(self._unended):
            self._runs.fail(run_id, UNWRITTEN, self._retained, stage_us={})
            self._unended.discard(run_id)

    def _recover(self) -> int:
        interrupted = self._runs.interrupt(self._mark.is_alive, INTERRUPTED)
        self._mark.sweep()
        return interrupted

    def _now(self) -> str:
        return time_text(self._clock())

    def _best_effort(self, write: Callable[[], T], otherwise: T) -> T:
        """The value of `write`, or `otherwise` whatever went wrong: a full disk must not cost anyone an answer."""
        try:
            return write()
        except Exception:  # noqa: BLE001 - by contract no failure of the history may reach the caller
            _log.exception("The history was not written; retrieval goes on without it.")
            return otherwise
