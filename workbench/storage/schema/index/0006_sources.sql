-- What the indexed snapshot saw of every file; entries: JSON [[claimed id or null, derived id, content hash], ...].
CREATE TABLE search_sources (
    source_ref TEXT PRIMARY KEY,
    layer TEXT NOT NULL,
    source_epoch INTEGER NOT NULL,
    source_version INTEGER NOT NULL,
    file_digest TEXT NOT NULL,
    byte_size INTEGER NOT NULL,
    changed_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    entries TEXT NOT NULL,
    error TEXT
) WITHOUT ROWID;
