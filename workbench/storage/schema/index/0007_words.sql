-- The word index. A block is 16,384 neighbouring unit rowids.
-- rowids: uint16 offsets in the block, ascending; tfs: uint8 weighted occurrences, aligned with them.
CREATE TABLE search_postings (
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    n INTEGER NOT NULL,
    rowids BLOB NOT NULL,
    tfs BLOB NOT NULL,
    PRIMARY KEY (term, block)
) WITHOUT ROWID;

-- By offset in the block, up to the last unit: lengths uint16, scopes uint8 (0 no unit, 1 user, 2 project).
CREATE TABLE search_blocks (
    block INTEGER PRIMARY KEY,
    lengths BLOB NOT NULL,
    scopes BLOB NOT NULL
);

CREATE TABLE search_terms (
    term_id INTEGER PRIMARY KEY,
    term TEXT NOT NULL UNIQUE
);

-- Finds the terms that contain a part of a word.
CREATE VIRTUAL TABLE search_vocabulary USING fts5 (
    term, content = 'search_terms', content_rowid = 'term_id', tokenize = 'trigram', detail = none, columnsize = 0
);

ALTER TABLE search_revisions ADD COLUMN terms_version TEXT NOT NULL DEFAULT '';
ALTER TABLE search_revisions ADD COLUMN total_length INTEGER NOT NULL DEFAULT 0;
