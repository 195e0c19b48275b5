-- How many chunks of a collection a filter lets through. Plan: as list_chunks.sql, without the sort.
SELECT count(*)
FROM collections_chunk AS chunk
WHERE chunk.collection_id = %(collection_id)s
  AND {where}
