-- Distances of given chunks, as in dense.sql. Plan: primary key (generation_id, chunk_id).
SELECT chunk_id,
       CASE %(distance)s::text
         WHEN 'cosine' THEN coalesce(nullif(embedding <=> %(query)s::vector, 'NaN'), 1)
         WHEN 'l2' THEN embedding <-> %(query)s::vector
         WHEN 'ip' THEN embedding <#> %(query)s::vector
       END AS distance
FROM stores_vector
WHERE generation_id = %(generation_id)s
  AND chunk_id = ANY(%(chunk_ids)s::bigint[])
