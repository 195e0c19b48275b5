-- All chunks that a filter lets through, where those are few. Plan: GIN on metadata where the filter can use it,
-- the index (collection_id, id) beside or instead of it.
SELECT chunk.id
FROM collections_chunk AS chunk
WHERE chunk.collection_id = ANY(%(collection_ids)s::bigint[])
  AND {where}
