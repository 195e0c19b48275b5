-- All vectors of a collection that the filter lets through, compared one by one: exact. `passes` is the filter's
-- evaluator. `inner` is exact: an inner product made of a Euclidean distance loses its digits where vectors are long.
SELECT chunks.id, chunks.text, chunks.metadata, CASE :distance
    WHEN 'cosine' THEN coalesce(vec_distance_cosine(vectors.embedding, :query), 1.0)
    WHEN 'l2' THEN vec_distance_l2(vectors.embedding, :query)
    ELSE -inner(vectors.embedding, :query)
END AS away
FROM chunks
JOIN vectors ON vectors.chunk = chunks.key
WHERE chunks.collection = :collection AND (:filter IS NULL OR passes(:filter, chunks.metadata, chunks.text))
ORDER BY away, chunks.key
LIMIT :limit
