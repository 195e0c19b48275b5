-- Every vector of a generation, compared one by one. Plan: primary key (generation_id, chunk_id), or the table.
SELECT chunk_id, {distance} AS distance
FROM stores_vector
WHERE generation_id = {generation}
ORDER BY distance, chunk_id
LIMIT %(limit)s
