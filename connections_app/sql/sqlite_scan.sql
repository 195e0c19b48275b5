-- The next chunks after a key with their vectors, in the order of adding: of a hundred thousand each page costs the same.
SELECT chunks.key, chunks.id, chunks.text, chunks.metadata, vectors.embedding
FROM chunks
LEFT JOIN vectors ON vectors.chunk = chunks.key
WHERE chunks.collection = :collection AND chunks.key > :after
ORDER BY chunks.key
LIMIT :limit
