"""The statements of `IndexReader`, by the name of the method they answer. `(:values)` is widened to the batch bound."""

HEAD = """
SELECT revision_id, project_id, miv, record_state_version, engine_identity, engine_name, dimension, arms,
       chunker_version, token_counter, terms_version, input_version, resource_count, unit_count, total_length,
       created_at
FROM search_heads JOIN search_revisions USING (revision_id, project_id)
WHERE project_id = ?
"""

BUILDING = """
SELECT miv FROM search_revisions WHERE project_id = ? AND state = 'building' ORDER BY revision_id DESC LIMIT 1
"""

LENGTHS = "SELECT block, lengths FROM search_blocks ORDER BY block"

SCOPES = "SELECT block, scopes FROM search_blocks ORDER BY block"

POSTINGS = "SELECT term, block, rowids, tfs FROM search_postings WHERE term IN (:values) ORDER BY term, block"

FREQUENCIES = "SELECT term, sum(n) FROM search_postings WHERE term IN (:values) GROUP BY term"

TERMS_WITH_PREFIX = "SELECT term FROM search_terms WHERE term >= ? AND term < ? ORDER BY term LIMIT ?"

TERMS_CONTAINING = "SELECT term FROM search_vocabulary WHERE term LIKE ? LIMIT ?"

TRIGRAM_SEARCH = """
SELECT search_units_fts.rowid, bm25(search_units_fts, 8, 6, 4, 1) AS score
FROM search_units_fts
JOIN search_units ON search_units.unit_rowid = search_units_fts.rowid
JOIN search_resources USING (resource_rowid)
WHERE search_units_fts MATCH ? AND scope IN (?, ?)
ORDER BY score, search_units.unit_key
LIMIT ?
"""

TRIGRAM_FREQUENCY = "SELECT count(*) FROM (SELECT 1 FROM search_units_fts WHERE search_units_fts MATCH ? LIMIT ?)"

# A name that equals the query is an exact one for its path and title (roles 2 and 4); everything else in the range
# of names, the id in another case included, begins with the query.
IDENTITY = """
WITH named AS (
    SELECT resource_rowid, min(CASE WHEN name = :name AND roles & 6 THEN 1 ELSE 2 END) AS name_grade
    FROM search_names
    WHERE name >= :name AND name < :after
    GROUP BY resource_rowid
), graded AS (
    SELECT resource_rowid, resource_id, CASE WHEN resource_id = :query THEN 0 ELSE name_grade END AS grade
    FROM named JOIN search_resources USING (resource_rowid)
    WHERE scope IN (:first, :second)
    ORDER BY grade, resource_id
    LIMIT :limit
)
SELECT unit_rowid, grade
FROM graded JOIN search_units USING (resource_rowid)
ORDER BY grade, resource_id, ordinal
LIMIT :limit
"""

UNITS = """
SELECT unit_rowid, unit_key, resource_id, search_resources.content_hash, search_units.content_hash,
       search_resources.layer, scope, kind, path, title, heading_path, part,
       coalesce(own_text, substr(CAST(body AS BLOB), text_start + 1, text_size)),
       search_units.byte_start, search_units.byte_end, search_units.line_start, search_units.line_end,
       token_count, source_ref, file_digest
FROM search_units JOIN search_resources USING (resource_rowid) JOIN search_sources USING (source_ref)
WHERE unit_rowid IN (:values)
"""

UNIT_KEYS = "SELECT unit_rowid, unit_key FROM search_units WHERE unit_rowid IN (:values)"

CONTENT_HASHES = "SELECT unit_key, content_hash FROM search_units WHERE unit_key IN (:values)"

RESOURCES = """
SELECT resource_id, content_hash, layer, scope, kind, path, title, description, body, source_ref,
       byte_start, byte_end, line_start, line_end
FROM search_resources
"""
CORPUS = """
SELECT resource_id, lower(hex(content_hash)), layer, scope, kind, path, title
FROM search_resources
ORDER BY resource_id
"""
RESOURCE = f"{RESOURCES} WHERE resource_id = ?"
RESOURCES_AFTER = f"{RESOURCES} WHERE resource_id > ? ORDER BY resource_id LIMIT ?"

VECTORS = """
SELECT unit_rowid, vector
FROM search_engines
JOIN search_vector_aliases AS alias USING (engine_id)
JOIN search_vector_cache AS cache ON cache.vector_rowid = alias.vector_rowid
WHERE engine_identity = ? AND unit_rowid > ?
ORDER BY unit_rowid
"""
