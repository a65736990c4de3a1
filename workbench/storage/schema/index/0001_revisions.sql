-- Which revisions there were, and which one answers.
CREATE TABLE search_revisions (
    revision_id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id TEXT NOT NULL,
    miv TEXT NOT NULL,
    record_state_version INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('building', 'ready', 'failed')),
    engine_identity TEXT,
    engine_name TEXT,
    dimension INTEGER,
    arms TEXT NOT NULL,
    chunker_version TEXT NOT NULL,
    token_counter TEXT NOT NULL,
    resource_count INTEGER NOT NULL DEFAULT 0,
    unit_count INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    error TEXT
);

CREATE TABLE search_heads (
    project_id TEXT PRIMARY KEY,
    revision_id INTEGER NOT NULL REFERENCES search_revisions (revision_id)
) WITHOUT ROWID;
