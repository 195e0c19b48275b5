-- One page of a collection's chunks in insertion order.
-- Plan: index (collection_id, position) where most rows match; the GIN index on metadata and a sort where few do.
SELECT chunk.id, chunk.external_id, chunk.text, chunk.metadata, chunk.position, chunk.disabled_at IS NOT NULL
FROM collections_chunk AS chunk
WHERE chunk.collection_id = %(collection_id)s
  AND chunk.position > %(after)s
  AND {where}
ORDER BY chunk.position
LIMIT %(limit)s OFFSET %(offset)s
