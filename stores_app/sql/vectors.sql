-- Stored vectors of given chunks. Plan: primary key (generation_id, chunk_id).
SELECT chunk_id, embedding::real[]
FROM stores_vector
WHERE generation_id = %(generation_id)s
  AND chunk_id = ANY(%(chunk_ids)s::bigint[])
