-- Where the chunks are that a filter lets through. Plan: as count_chunks.sql.
SELECT chunk.external_id, chunk.id, chunk.position, chunk.document_id
FROM collections_chunk AS chunk
WHERE chunk.collection_id = %(collection_id)s
  AND {where}
