-- The head's resources, and the names by which one can be asked for. What is long stands last: SQLite reads a row up to
-- the column that is asked for.
CREATE TABLE search_resources (
    resource_rowid INTEGER PRIMARY KEY,
    resource_id TEXT NOT NULL UNIQUE,
    source_ref TEXT NOT NULL,
    layer TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    byte_start INTEGER NOT NULL,
    byte_end INTEGER NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    description TEXT NOT NULL,
    body TEXT NOT NULL
);

-- name: case-folded; roles: bit 1 the id, bit 2 the path, bit 4 the title.
CREATE TABLE search_names (
    name TEXT NOT NULL,
    resource_rowid INTEGER NOT NULL,
    roles INTEGER NOT NULL,
    PRIMARY KEY (name, resource_rowid)
) WITHOUT ROWID;
