-- The same among the chunks that a filter lets through, where those are few: they are found first.
-- Not a join: a planner that knows nothing yet of a collection expects one row, and reads all its vectors for
-- each chunk. Plan: GIN on metadata where the filter can use it, then the vectors by key.
WITH matching AS MATERIALIZED (
    SELECT chunk.id FROM collections_chunk AS chunk WHERE chunk.collection_id = %(collection_id)s AND {where}
)
SELECT vector.chunk_id, vector.distance
FROM matching
CROSS JOIN LATERAL (
    SELECT chunk_id, {distance} AS distance
    FROM stores_vector
    WHERE generation_id = {generation} AND chunk_id = matching.id
    OFFSET 0
) AS vector
ORDER BY vector.distance, vector.chunk_id
LIMIT %(limit)s
