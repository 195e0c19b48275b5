-- What the planner thinks of finding all chunks that a filter lets through; they are not looked for.
EXPLAIN (FORMAT JSON)
SELECT chunk.id FROM collections_chunk AS chunk WHERE chunk.collection_id = %(collection_id)s AND {where}
