-- A case stands for one succeeded run and pins it: query, project, manifest and candidates are the run's and stay.
CREATE TABLE evaluation_cases (
    case_id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE REFERENCES retrieval_runs (run_id) ON DELETE RESTRICT,
    state TEXT NOT NULL DEFAULT 'draft' CHECK (state IN ('draft', 'ready', 'needs_evidence')),
    version INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) WITHOUT ROWID;

-- Confirmed evidence; without unit_key it is the whole frozen resource. No identity stands twice in one case.
CREATE TABLE evaluation_evidence (
    case_id TEXT NOT NULL REFERENCES evaluation_cases (case_id) ON DELETE CASCADE,
    resource_id TEXT NOT NULL,
    unit_key TEXT,
    excerpt TEXT NOT NULL
);
CREATE UNIQUE INDEX evaluation_evidence_identity
    ON evaluation_evidence (case_id, resource_id, coalesce(unit_key, ''));
