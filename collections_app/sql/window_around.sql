-- Where the neighbours of chunks begin and end in their document's text, up to the first one that is not there any
-- more: what was taken out must not be shown between others. Plan: for each chunk a range of the index
-- (document_id, ordinal).
SELECT chunk.id, chunk.document_id, around.first, around.last
FROM collections_chunk AS chunk
JOIN collections_documenttext AS extracted ON extracted.document_id = chunk.document_id
CROSS JOIN LATERAL (
    SELECT min(near.start_offset) AS first, max(near.end_offset) AS last
    FROM (
        -- The same number for chunks without a gap between them.
        SELECT ordinal, start_offset, end_offset, ordinal - row_number() OVER (ORDER BY ordinal) AS island
        FROM collections_chunk
        WHERE document_id = chunk.document_id
          AND ordinal BETWEEN chunk.ordinal - %(size)s AND chunk.ordinal + %(size)s
          AND start_offset IS NOT NULL
          AND disabled_at IS NULL
    ) AS near
    GROUP BY near.island
    HAVING bool_or(near.ordinal = chunk.ordinal)
) AS around
WHERE chunk.id = ANY(%(chunk_ids)s::bigint[])
