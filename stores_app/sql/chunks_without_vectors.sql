-- The next chunks of a collection, by key, that have no vector in a generation and should. Plan: the index (collection, id) beside
-- the primary key of the vectors; where hardly any is missing it reads both to their ends, so the caller bounds its time.
SELECT chunk.id
FROM collections_chunk AS chunk
WHERE chunk.collection_id = %(collection_id)s
  AND chunk.id > %(after)s
  AND chunk.disabled_at IS NULL
  AND NOT EXISTS (SELECT FROM stores_vector AS vector
                  WHERE vector.generation_id = %(generation_id)s AND vector.chunk_id = chunk.id)
ORDER BY chunk.id
LIMIT %(limit)s
