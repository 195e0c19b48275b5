-- Chunks as a placement is to have them, by their external ids; those that no search finds have no vector and are left
-- out. Plan: unique index (collection_id, external_id), then the vectors' primary key.
SELECT chunk.id, chunk.external_id, chunk.text, chunk.metadata
FROM collections_chunk AS chunk
JOIN stores_vector AS vector ON vector.generation_id = %(generation_id)s AND vector.chunk_id = chunk.id
WHERE chunk.collection_id = %(collection_id)s
  AND chunk.external_id = ANY(%(external_ids)s::text[])
