-- The same among the chunks that a filter lets through; LATE are those above the watermark.
-- Chunks are looked up in the order of the index until enough passed; as a join it would be the planner's
-- choice whether that order is kept.
WITH near AS MATERIALIZED (
    SELECT chunk_id, embedding
    FROM stores_vector
    WHERE generation_id = {generation} AND chunk_id <= {watermark}
      AND (SELECT {where} FROM collections_chunk AS chunk WHERE chunk.id = stores_vector.chunk_id)
    ORDER BY {key}::halfvec({dimension}) {operator} {query_key}::halfvec({dimension})
    LIMIT %(candidates)s
), late AS (
    {late}
)
SELECT chunk_id, distance, (SELECT count(*) FROM near) AS indexed
FROM (SELECT chunk_id, {distance} AS distance FROM near UNION ALL SELECT chunk_id, distance FROM late) AS found
ORDER BY distance, chunk_id
LIMIT %(limit)s
