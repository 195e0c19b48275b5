-- All vectors of a collection that the filter lets through, compared one by one: exact. `passes` is the filter's
-- evaluator. The inner product comes out of the Euclidean distance: |a - b|² = a² + b² - 2ab.
SELECT chunks.id, chunks.text, chunks.metadata, CASE :distance
    WHEN 'cosine' THEN coalesce(vec_distance_cosine(vectors.embedding, :query), 1.0)
    WHEN 'l2' THEN vec_distance_l2(vectors.embedding, :query)
    ELSE (pow(vec_distance_l2(vectors.embedding, :query), 2) - vectors.square - :square) / 2
END AS away
FROM chunks
JOIN vectors ON vectors.chunk = chunks.key
WHERE chunks.collection = :collection AND (:filter IS NULL OR passes(:filter, chunks.metadata, chunks.text))
ORDER BY away, chunks.key
LIMIT :limit
