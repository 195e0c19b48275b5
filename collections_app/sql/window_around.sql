-- Where the neighbours of chunks begin and end in their document's text. Plan: for each chunk a range of the index
-- (document_id, ordinal).
SELECT chunk.id, chunk.document_id, around.first, around.last
FROM collections_chunk AS chunk
JOIN collections_documenttext AS extracted ON extracted.document_id = chunk.document_id
CROSS JOIN LATERAL (
    SELECT min(near.start_offset) AS first, max(near.end_offset) AS last
    FROM collections_chunk AS near
    WHERE near.document_id = chunk.document_id
      AND near.ordinal BETWEEN chunk.ordinal - %(size)s AND chunk.ordinal + %(size)s
) AS around
WHERE chunk.id = ANY(%(chunk_ids)s::bigint[])
