-- The same where few pass. Plan: a range of the index (collection_id, id); the OFFSETs keep it from looking for
-- the filter among all chunks, and from reading all vectors for each chunk.
SELECT vector.chunk_id, vector.distance
FROM (
    SELECT id, collection_id, metadata, text
    FROM collections_chunk
    WHERE (collection_id, id) > (%(collection_id)s, {watermark})
      AND (collection_id, id) < (%(collection_id)s + 1::bigint, 0)
    OFFSET 0
) AS chunk
CROSS JOIN LATERAL (
    SELECT chunk_id, {distance} AS distance
    FROM stores_vector
    WHERE generation_id = {generation} AND chunk_id = chunk.id
    OFFSET 0
) AS vector
WHERE {where}
