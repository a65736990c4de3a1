"""The SQL of cases and their evidence."""

from __future__ import annotations

_SUMMARY = """
SELECT c.case_id, c.run_id, r.project_id, r.request_key, r.query, c.state, c.version, c.created_at, c.updated_at,
    (SELECT count(*) FROM evaluation_evidence AS e WHERE e.case_id = c.case_id) AS evidence_count
FROM evaluation_cases AS c JOIN retrieval_runs AS r ON r.run_id = c.run_id
"""

# Case ids are hex digits, all of which sort before "g".
BY_PREFIX = f"{_SUMMARY} WHERE c.case_id >= :prefix AND c.case_id < :prefix || 'g' LIMIT 2"

BY_RUN = f"{_SUMMARY} WHERE c.run_id = ?"

# Both filters are JSON lists; a null list of states means any.
LIST = f"""
{_SUMMARY}
WHERE r.project_id IN (SELECT value FROM json_each(:project_ids))
    AND (:states IS NULL OR c.state IN (SELECT value FROM json_each(:states)))
ORDER BY c.created_at, r.run_rowid
"""

COUNTS = """
SELECT c.state, count(*) FROM evaluation_cases AS c JOIN retrieval_runs AS r ON r.run_id = c.run_id
WHERE r.project_id IN (SELECT value FROM json_each(:project_ids))
    AND (:case_ids IS NULL OR c.case_id IN (SELECT value FROM json_each(:case_ids)))
GROUP BY c.state
"""

EVIDENCE = "SELECT resource_id, unit_key, excerpt FROM evaluation_evidence WHERE case_id = ? ORDER BY rowid"

# The run may have been removed since its corpus was checked; and somebody else may have made the case.
CREATE = """
INSERT INTO evaluation_cases (case_id, run_id, created_at, updated_at)
SELECT :case_id, run_id, :at, :at FROM retrieval_runs WHERE run_id = :run_id
ON CONFLICT (run_id) DO NOTHING
"""

RESOLVE = """
UPDATE evaluation_cases SET state = :state, version = version + 1, updated_at = :at
WHERE case_id = :case_id AND version = :version
"""

DROP_EVIDENCE = "DELETE FROM evaluation_evidence WHERE case_id = ?"

ADD_EVIDENCE = "INSERT INTO evaluation_evidence (case_id, resource_id, unit_key, excerpt) VALUES (?, ?, ?, ?)"

ADD_READY = """
INSERT INTO evaluation_cases (case_id, run_id, state, version, created_at, updated_at)
VALUES (?, ?, 'ready', ?, ?, ?)
"""
