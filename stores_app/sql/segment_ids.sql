-- Which chunks are in these segments, eight bytes each in the order of their ordinals. Plan: the primary key.
SELECT id, chunk_ids
FROM stores_segment
WHERE id = ANY(%(segment_ids)s::bigint[])
