"""The activation pipeline `agent_activation.v2`: recall, fuse, rerank, select, and say what changed in the context.

One head is fixed at the start and read to the end. Reads only: it records nothing and injects nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from workbench.core.activation import ActivationRequest, DegradationNote
from workbench.core.candidate import ExclusionReason
from workbench.core.deadline import Deadline
from workbench.core.errors import InputError, NotReady, WorkbenchError
from workbench.core.limits import Limits
from workbench.core.resource import Degradation, SnapshotRef
from workbench.core.settings import Lexical
from workbench.core.unit import resource_id_of
from workbench.memory.state import StateManifest
from workbench.models.base import Embedder, Reranker
from workbench.retrieval.answer import Activation, Chosen, index_state, result_of, trace_of
from workbench.retrieval.arms import Corpus
from workbench.retrieval.candidates import Ranked
from workbench.retrieval.context_state import decode_state
from workbench.retrieval.degradation import Degraded
from workbench.retrieval.delta import Delta, Known, delta
from workbench.retrieval.query import normal_query
from workbench.retrieval.recall import fused, known_now, recall
from workbench.retrieval.rerank import Ordered, rerank, rrf_order
from workbench.retrieval.revision_view import RevisionCache
from workbench.retrieval.selection import BlockReader, Rules, select
from workbench.retrieval.stages import DEADLINE_MESSAGE, Stages
from workbench.retrieval.work import Work
from workbench.storage.index_records import Revision
from workbench.storage.project_index import ProjectIndex


class Retriever:
    """Answers activation requests over one project's index. Thread-safe.

    manifest: the state manifest as it is now; asked at recall and again at assembly. threshold: the least rerank score
    of a relevant candidate, calibrated for this reranker; None drops nothing. patient: wait (within the deadline) for
    a model that is not loaded; off: answer without it, with `model_preparing`.
    """

    def __init__(
        self,
        index: ProjectIndex,
        *,
        embedder: Embedder | None,
        reranker: Reranker | None,
        manifest: Callable[[], StateManifest],
        lexical: Lexical,
        block_reader: BlockReader | None = None,
        threshold: float | None = None,
        patient: bool = True,
    ) -> None:
        self._index, self._embedder, self._reranker = index, embedder, reranker
        self._manifest, self._lexical, self._block_reader = manifest, lexical, block_reader
        self._threshold, self._patient = threshold, patient
        self._cache = RevisionCache()

    def activate(
        self,
        request: ActivationRequest,
        limits: Limits,
        deadline: Deadline,
        *,
        current: SnapshotRef | None = None,
        degradations: Sequence[Degradation] = (),
        engine_of: Callable[[Revision], Embedder | None] | None = None,
        kept_fresh: bool = False,
    ) -> Activation:
        """One activation. The same request over the same head and manifest gives the same answer.

        current: the memory's snapshot, as far as is known (for `stale`). degradations: known already, passed on.
        engine_of: the engine for the head, in place of the retriever's; asked once, when the head is fixed.
        kept_fresh: whether somebody builds the index, so that who has none need not.
        Raises, each with the stage it came from: `InputError` for the request; `NotReady("index_preparing")` without a
        head; `WorkbenchError("deadline_exceeded")` when the deadline comes before any answer.
        """
        work = self._begun(request, limits, deadline)
        work.note(*(DegradationNote(code=one.code, detail=one.detail) for one in degradations))
        with ExitStack() as stack:
            with work.stages.stage("head"):
                reader = stack.enter_context(self._index.reader(deadline))
                revision = reader.revision
                if revision is None:
                    raise self._not_ready(kept_fresh)
                building = reader.building_miv()
            embedder = self._embedder if engine_of is None else engine_of(revision)
            corpus = Corpus(reader, revision, self._cache, limits, request.scopes)
            found = recall(work, corpus, embedder, self._lexical, patient=self._patient)
            ranked, fused_out = fused(work, corpus, found, self._manifest())
            known = known_now(work, corpus)
        chosen, change = self._assembled(work, request, self._ordered(work, request, ranked), known)
        index = index_state(revision, current, building)
        result = result_of(request, work, index, revision, chosen, change)
        return Activation(result, trace_of(chosen, change, fused_out))

    def _begun(self, request: ActivationRequest, limits: Limits, deadline: Deadline) -> Work:
        stages = Stages()
        with stages.stage("query"):
            query = normal_query(request.query, limits.query_chars)
            if request.verify and self._block_reader is None:
                raise InputError("invalid_argument", "Verified blocks cannot be read here; ask without `verify`.")
            previous = decode_state(request.state, self._index.project_id)
        return Work.begun(query, previous, limits, deadline, stages)

    def _not_ready(self, kept_fresh: bool) -> WorkbenchError:
        error = self._index.last_error()
        if error is None:
            told = (
                "is being indexed; ask again shortly." if kept_fresh else "is not indexed yet; run `workbench index`."
            )
            return NotReady("index_preparing", f"The memory {told}")
        told = "that is tried again by itself; ask later." if kept_fresh else "run `workbench index` again."
        return WorkbenchError("index_build_failed", f"The memory could not be indexed ({error}); {told}")

    def _ordered(self, work: Work, request: ActivationRequest, ranked: Sequence[Ranked]) -> Ordered:
        window = work.limits.rerank_window
        if self._reranker is None or not request.rerank or window == 0:
            return rrf_order(ranked)
        with work.stages.stage("rerank"):
            ordered = rerank(self._reranker, work.query, ranked, window, work.early, patient=self._patient)
        work.note(*ordered.notes)
        return ordered

    def _assembled(
        self, work: Work, request: ActivationRequest, ordered: Ordered, known: Mapping[str, str | None]
    ) -> tuple[Chosen, Delta]:
        """What is selected under the state manifest as it is by now, and how the context changes by it.

        Raises: `WorkbenchError("deadline_exceeded")` when the deadline left nothing to answer with.
        """
        with work.stages.stage("selection"):
            manifest = self._manifest()
            now = tuple(replace(one, status=manifest.status(one.unit.resource_id)) for one in ordered.ranked)
            ordered = replace(ordered, ranked=now)
            block_reader = self._block_reader if request.verify else None
            rules = Rules(work.limits, work.deadline, self._threshold, block_reader)
            chosen = Chosen(ordered, select(ordered, rules))
            if ExclusionReason.DEADLINE in chosen.reasons:
                if not chosen.units:
                    raise WorkbenchError("deadline_exceeded", DEADLINE_MESSAGE)
                work.note(Degraded.DEADLINE.note("the first candidates served"))
        with work.stages.stage("delta"):
            then = {key: Known(manifest.status(resource_id_of(key)), known[key]) for key in work.previous}
            return chosen, delta(work.previous, then, chosen.units, work.limits.state_units)
