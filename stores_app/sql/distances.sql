-- Distances of given chunks, as in nearest.sql. Plan: primary key (generation_id, chunk_id).
SELECT chunk_id, {distance} AS distance
FROM stores_vector
WHERE generation_id = {generation}
  AND chunk_id = ANY(%(chunk_ids)s::bigint[])
