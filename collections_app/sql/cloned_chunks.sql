-- The keys of chunks and of their copies in another collection, and which are disabled, in the order of the copies.
-- Plan: the unique index (collection, external_id) of both.
SELECT original.id, copied.id, original.disabled_at IS NOT NULL
FROM collections_chunk AS original
JOIN collections_chunk AS copied ON copied.collection_id = %(target)s AND copied.external_id = original.external_id
WHERE original.collection_id = %(source)s
ORDER BY copied.id
