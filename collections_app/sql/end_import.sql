-- Documents whose chunks have all arrived: counted, and from now on taken for what their source would give.
-- Plan: primary key; the chunks of each by the index (document_id, ordinal).
UPDATE collections_document AS document
SET chunk_count = (SELECT count(*) FROM collections_chunk AS chunk WHERE chunk.document_id = document.id),
    content_hash = given.content_hash
FROM unnest(%(document_ids)s::bigint[], %(hashes)s::text[]) AS given (id, content_hash)
WHERE document.id = given.id
