-- The next chunks that a placement is to have, after a key. Plan: the vectors' primary key, in its order.
SELECT vector.chunk_id, chunk.external_id
FROM stores_vector AS vector
JOIN collections_chunk AS chunk ON chunk.id = vector.chunk_id
WHERE vector.generation_id = %(generation_id)s AND vector.chunk_id > %(after)s
ORDER BY vector.chunk_id
LIMIT %(limit)s
