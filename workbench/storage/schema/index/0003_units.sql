-- The head's units. A rowid is never used again. The text is a slice of the body, in bytes of UTF-8, or stands by itself.
CREATE TABLE search_units (
    unit_rowid INTEGER PRIMARY KEY AUTOINCREMENT,
    unit_key TEXT NOT NULL UNIQUE,
    resource_rowid INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    part TEXT NOT NULL,
    heading_path TEXT NOT NULL,
    byte_start INTEGER NOT NULL,
    byte_end INTEGER NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    token_count INTEGER NOT NULL,
    content_hash BLOB NOT NULL,
    text_start INTEGER,
    text_size INTEGER,
    own_text TEXT
);

CREATE INDEX search_units_by_resource ON search_units (resource_rowid, ordinal);
