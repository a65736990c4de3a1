"""The SQL of runs and their candidates."""

from __future__ import annotations

from workbench.core.candidate import Candidate

BEGIN = """
INSERT INTO retrieval_runs (run_id, project_id, request_key, query, request, owner, started_at)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""

SUCCEED = """
UPDATE retrieval_runs SET
    state = 'succeeded', owner = NULL, request_key = :request_key, latency_us = :latency_us, pipeline = :pipeline,
    revision = :revision, miv = :miv, arms = :arms, engine = :engine, stale = :stale, building_miv = :building_miv,
    ordering = :ordering, stage_us = :stage_us, degradations = :degradations, candidate_count = :candidate_count,
    fragment_count = :fragment_count, budget = :budget, decision = :decision, fragments = :fragments,
    fused_out = :fused_out,
    manifest = (
        SELECT max(manifest) FROM retrieval_corpus_manifests AS m
        WHERE m.project_id = retrieval_runs.project_id AND m.miv = :miv
    )
WHERE run_id = :run_id AND state = 'running'
RETURNING run_rowid, project_id
"""

_ENDED = (
    "run_id", "project_id", "request_key", "query", "request", "started_at", "latency_us", "pipeline", "revision",
    "miv", "arms", "engine", "stale", "building_miv", "ordering", "stage_us", "degradations", "candidate_count",
    "fragment_count", "budget", "decision", "fragments", "fused_out", "manifest",
)  # fmt: skip

ADD_ENDED = f"""
INSERT INTO retrieval_runs (state, {", ".join(_ENDED)}) VALUES ('succeeded', :{", :".join(_ENDED)})
RETURNING run_rowid
"""

FAIL = """
UPDATE retrieval_runs SET
    state = 'failed', owner = NULL, latency_us = :latency_us, revision = :revision, miv = :miv, arms = :arms,
    engine = :engine, stale = :stale, building_miv = :building_miv, stage_us = :stage_us,
    error_stage = :error_stage, error_code = :error_code, error_summary = :error_summary
WHERE run_id = :run_id AND state = 'running'
RETURNING project_id
"""

OWNERS = "SELECT DISTINCT owner FROM retrieval_runs WHERE owner IS NOT NULL"

INTERRUPT = """
UPDATE retrieval_runs SET
    state = 'failed', owner = NULL, error_stage = :stage, error_code = :code, error_summary = :summary
WHERE owner = :owner
"""

_UNPINNED = """
state <> 'running' AND NOT EXISTS (SELECT 1 FROM evaluation_cases AS c WHERE c.run_id = retrieval_runs.run_id)
"""

TRIM = f"""
DELETE FROM retrieval_runs WHERE run_rowid IN (
    SELECT run_rowid FROM retrieval_runs WHERE project_id = ? AND {_UNPINNED}
    ORDER BY run_rowid DESC LIMIT -1 OFFSET ?
)
"""

CLEAR = f"""
DELETE FROM retrieval_runs WHERE project_id IN (SELECT value FROM json_each(?)) AND {_UNPINNED}
"""

RUN_COLUMNS = """
run_rowid, run_id, project_id, request_key, query, json_extract(request, '$.scopes') AS scopes, state, started_at,
latency_us, revision, miv, arms, engine, stale, building_miv, ordering, stage_us, degradations, candidate_count,
fragment_count, budget, error_stage, error_code, error_summary, fragments, fused_out, manifest,
EXISTS (SELECT 1 FROM evaluation_cases AS c WHERE c.run_id = retrieval_runs.run_id) AS pinned,
(
    SELECT resource_count FROM retrieval_corpus_manifests AS m
    WHERE m.project_id = retrieval_runs.project_id AND m.manifest = retrieval_runs.manifest
) AS corpus_size
"""

LIST = f"SELECT {RUN_COLUMNS} FROM retrieval_runs WHERE project_id = ? ORDER BY run_rowid DESC LIMIT ?"

ARMS = """
SELECT r.run_id, total(c.bm25_rank <= :depth), total(c.vector_rank <= :depth),
    total(c.bm25_rank <= :depth AND c.vector_rank <= :depth)
FROM retrieval_runs AS r JOIN retrieval_run_candidates AS c USING (run_rowid)
WHERE r.project_id = :project_id GROUP BY r.run_rowid
"""

# Run ids are hex digits, all of which sort before "g".
BY_PREFIX = f"SELECT {RUN_COLUMNS} FROM retrieval_runs WHERE run_id >= :prefix AND run_id < :prefix || 'g' LIMIT 2"

ASKED = "SELECT request, query, request_key, manifest, pipeline, decision FROM retrieval_runs WHERE run_id = ?"

CANDIDATE_COLUMNS = tuple(Candidate.model_fields)

ADD_CANDIDATE = f"""
INSERT INTO retrieval_run_candidates (run_rowid, {", ".join(CANDIDATE_COLUMNS)})
VALUES (?{", ?" * len(CANDIDATE_COLUMNS)})
"""

CANDIDATES = f"""
SELECT {", ".join(CANDIDATE_COLUMNS)} FROM retrieval_run_candidates WHERE run_rowid = ? ORDER BY final_rank
"""
