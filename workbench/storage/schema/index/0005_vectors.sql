-- Vectors by engine and exact encoder input, and which unit of the head uses which.
CREATE TABLE search_engines (
    engine_id INTEGER PRIMARY KEY,
    engine_identity TEXT NOT NULL UNIQUE,
    engine_name TEXT NOT NULL,
    dimension INTEGER NOT NULL
);

CREATE TABLE search_vector_cache (
    vector_rowid INTEGER PRIMARY KEY,
    engine_id INTEGER NOT NULL REFERENCES search_engines (engine_id),
    input_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (engine_id, input_hash)
);

CREATE TABLE search_vector_aliases (
    engine_id INTEGER NOT NULL,
    unit_rowid INTEGER NOT NULL,
    vector_rowid INTEGER NOT NULL,
    PRIMARY KEY (engine_id, unit_rowid)
) WITHOUT ROWID;

-- The rule by which encoder inputs are made.
ALTER TABLE search_revisions ADD COLUMN input_version TEXT NOT NULL DEFAULT '';
