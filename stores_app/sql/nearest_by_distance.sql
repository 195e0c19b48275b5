-- Of the chunks above a watermark that a filter lets through, where those are many: all are put in order, and
-- looked up until enough passed. The OFFSET keeps the filter out of the inner part. Plan: a range of the
-- primary key, or the table; a sort; then chunks by primary key, few of them.
SELECT chunk_id, distance
FROM (
    SELECT chunk_id, {distance} AS distance
    FROM stores_vector
    WHERE (generation_id, chunk_id) > ({generation}, {watermark})
      AND (generation_id, chunk_id) < ({generation} + 1::bigint, 0)
    ORDER BY distance, chunk_id
    OFFSET 0
) AS ranked
WHERE (SELECT {where} FROM collections_chunk AS chunk WHERE chunk.id = ranked.chunk_id)
ORDER BY distance, chunk_id
LIMIT %(limit)s
