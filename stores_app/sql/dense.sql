-- Exact scan of one generation. The distance is known when the statement is planned, so that CASE
-- leaves one operator. pgvector has NaN for the cosine with a zero vector; here they are unrelated.
SELECT chunk_id,
       CASE %(distance)s::text
         WHEN 'cosine' THEN coalesce(nullif(embedding <=> %(query)s::vector, 'NaN'), 1)
         WHEN 'l2' THEN embedding <-> %(query)s::vector
         WHEN 'ip' THEN embedding <#> %(query)s::vector
       END AS distance
FROM stores_vector
WHERE generation_id = %(generation_id)s
ORDER BY distance, chunk_id
LIMIT %(limit)s
