-- The contract's lexical arm; filled only while a revision declares the arm `trigram`.
CREATE VIRTUAL TABLE search_units_fts USING fts5 (
    path, title, heading, body, revision_id UNINDEXED, unit_key UNINDEXED, tokenize = 'trigram'
);
