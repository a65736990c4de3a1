"""The SQL of corpus manifests and archived bodies."""

LATEST = """
SELECT manifest, miv, complete FROM retrieval_corpus_manifests WHERE project_id = ? ORDER BY manifest DESC LIMIT 1
"""

_ENTRY = "resource_id, resource_hash, layer, scope, kind, path, title"

OPEN = f"SELECT {_ENTRY} FROM retrieval_run_resources WHERE project_id = ? AND last_manifest IS NULL"

CLOSE = """
UPDATE retrieval_run_resources SET last_manifest = ?
WHERE project_id = ? AND resource_id = ? AND last_manifest IS NULL
"""

ADD_ENTRY = f"""
INSERT INTO retrieval_run_resources ({_ENTRY}, project_id, first_manifest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

ADD_MANIFEST = """
INSERT INTO retrieval_corpus_manifests (project_id, manifest, miv, resource_count, created_at) VALUES (?, ?, ?, ?, ?)
"""

EXPECT_BLOB = "INSERT OR IGNORE INTO retrieval_corpus_blobs (sha256, created_at) VALUES (?, ?)"

ADOPT_RUNS = """
UPDATE retrieval_runs SET manifest = ?
WHERE project_id = ? AND miv = ? AND manifest IS NULL AND state = 'succeeded'
"""

MISSING = """
SELECT resource_id, resource_hash FROM retrieval_run_resources AS r
JOIN retrieval_corpus_blobs AS b ON b.sha256 = r.resource_hash
WHERE r.project_id = ? AND r.last_manifest IS NULL AND b.byte_size IS NULL
ORDER BY resource_id
"""

ARCHIVED = "UPDATE retrieval_corpus_blobs SET byte_size = ? WHERE sha256 = ?"

FORGET_BLOB = "UPDATE retrieval_corpus_blobs SET byte_size = NULL WHERE sha256 = ?"

INCOMPLETE = """
UPDATE retrieval_corpus_manifests SET complete = 0 WHERE project_id IN (
    SELECT project_id FROM retrieval_run_resources WHERE resource_hash = ? AND last_manifest IS NULL
)
"""

COMPLETE = "UPDATE retrieval_corpus_manifests SET complete = 1 WHERE project_id = ? AND manifest = ?"

ENTRIES = f"""
SELECT {_ENTRY} FROM retrieval_run_resources
WHERE project_id = :project_id AND first_manifest <= :manifest
    AND (last_manifest IS NULL OR last_manifest >= :manifest)
ORDER BY resource_id
"""

# The one before the latest stays too: a retrieval that began on it may not have ended yet.
FREE_MANIFESTS = """
DELETE FROM retrieval_corpus_manifests AS m
WHERE NOT EXISTS (SELECT 1 FROM retrieval_runs AS r WHERE r.project_id = m.project_id AND r.manifest = m.manifest)
    AND manifest < (SELECT max(manifest) - 1 FROM retrieval_corpus_manifests AS l WHERE l.project_id = m.project_id)
"""

FREE_ENTRIES = """
DELETE FROM retrieval_run_resources AS r
WHERE last_manifest IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM retrieval_corpus_manifests AS m
    WHERE m.project_id = r.project_id AND m.manifest BETWEEN r.first_manifest AND r.last_manifest
)
RETURNING resource_hash
"""

_IN_USE = "EXISTS (SELECT 1 FROM retrieval_run_resources AS r WHERE r.resource_hash = sha256)"

FORGET_UNUSED = f"UPDATE retrieval_corpus_blobs SET byte_size = NULL WHERE sha256 = ? AND NOT {_IN_USE}"

UNUSED = f"SELECT sha256 FROM retrieval_corpus_blobs WHERE byte_size IS NULL AND NOT {_IN_USE} ORDER BY sha256"

FREE_BLOB = "DELETE FROM retrieval_corpus_blobs WHERE sha256 = ?"
