-- Nearest vectors by the index, and of those added after it was built one by one.
-- The index holds half precision: more than are wanted are taken from it, and ordered by their exact
-- distance. Plan: HNSW below its watermark; above it a range of the primary key, compared as rows, because
-- the index on chunk_id alone would bring the chunks of all other generations.
WITH near AS MATERIALIZED (
    SELECT chunk_id, embedding
    FROM stores_vector
    WHERE generation_id = {generation} AND chunk_id <= {watermark}
    ORDER BY {key}::halfvec({dimension}) {operator} {query_key}::halfvec({dimension})
    LIMIT %(candidates)s
), tail AS (
    SELECT chunk_id, embedding
    FROM stores_vector
    WHERE (generation_id, chunk_id) > ({generation}, {watermark}) AND (generation_id, chunk_id) < ({generation} + 1::bigint, 0)
)
SELECT chunk_id, {distance} AS distance, (SELECT count(*) FROM near) AS indexed
FROM (SELECT chunk_id, embedding FROM near UNION ALL SELECT chunk_id, embedding FROM tail) AS found
ORDER BY distance, chunk_id
LIMIT %(limit)s
