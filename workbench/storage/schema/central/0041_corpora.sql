-- The corpora that runs searched. A project's manifests are numbered in the order in which they were recorded; the
-- greatest number is the corpus as it is now. `complete`: every body of it has been archived.
CREATE TABLE retrieval_corpus_manifests (
    project_id TEXT NOT NULL,
    manifest INTEGER NOT NULL,
    miv TEXT NOT NULL,
    resource_count INTEGER NOT NULL,
    complete INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    PRIMARY KEY (project_id, manifest)
) WITHOUT ROWID;
CREATE INDEX retrieval_corpus_manifests_of_miv ON retrieval_corpus_manifests (project_id, miv, manifest);

-- A resource was in every manifest from first_manifest up to last_manifest, both included; NULL: up to now. So a new
-- manifest costs rows for what changed, and none for what stayed. The order of a manifest is by resource_id.
CREATE TABLE retrieval_run_resources (
    project_id TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    first_manifest INTEGER NOT NULL,
    last_manifest INTEGER CHECK (last_manifest >= first_manifest),
    resource_hash TEXT NOT NULL,
    layer TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    PRIMARY KEY (project_id, resource_id, first_manifest)
) WITHOUT ROWID;
CREATE INDEX retrieval_run_resources_of_hash ON retrieval_run_resources (resource_hash);
CREATE INDEX retrieval_run_resources_closed ON retrieval_run_resources (project_id, last_manifest)
    WHERE last_manifest IS NOT NULL;

-- Bodies by hash. The row is there before its file is written, so that no file is without a row; byte_size is NULL
-- until the file is whole.
CREATE TABLE retrieval_corpus_blobs (
    sha256 TEXT PRIMARY KEY,
    byte_size INTEGER,
    created_at TEXT NOT NULL
) WITHOUT ROWID;

ALTER TABLE retrieval_runs ADD COLUMN manifest INTEGER;
CREATE INDEX retrieval_runs_of_manifest ON retrieval_runs (project_id, manifest);
