-- Segments that may hold one of these chunks, locked, in one order for everybody.
-- Plan: index on collection_id; a segment without a candidate is told by its range of ids alone.
SELECT id, chunk_ids, lengths, dead
FROM stores_segment
WHERE collection_id = %(collection_id)s
  AND NOT retired
  AND EXISTS (
    SELECT FROM unnest(%(chunk_ids)s::bigint[]) AS gone (id)
    WHERE gone.id BETWEEN first_chunk_id AND last_chunk_id
  )
ORDER BY id
FOR UPDATE
