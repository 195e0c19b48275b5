-- A page of the chunks that the filter lets through, in the order of adding.
SELECT chunks.id, chunks.text, chunks.metadata, CASE WHEN :vectors THEN vectors.embedding END
FROM chunks
LEFT JOIN vectors ON vectors.chunk = chunks.key
WHERE chunks.collection = :collection AND (:filter IS NULL OR passes(:filter, chunks.metadata, chunks.text))
ORDER BY chunks.key
LIMIT :limit OFFSET :offset
