-- Copies the documents of a collection. The places they came from stay behind: those are kept in step with the original.
-- Plan: the unique index (collection, source).
INSERT INTO collections_document (
    collection_id, source, title, content_hash, media_type, size_bytes, state, metadata, chunk_count, cut_by, origin,
    submitted_at, error, error_code, created_at, updated_at
)
SELECT %(target)s, source, title, content_hash, media_type, size_bytes, state, metadata, chunk_count, cut_by, '',
       submitted_at, error, error_code, now(), now()
FROM collections_document
WHERE collection_id = %(source)s
