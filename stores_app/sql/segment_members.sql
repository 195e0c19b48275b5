-- The chunks of segments that are about to be merged, locked.
SELECT id, chunk_ids, lengths, dead
FROM stores_segment
WHERE id = ANY(%(segment_ids)s::bigint[])
ORDER BY id
FOR UPDATE
