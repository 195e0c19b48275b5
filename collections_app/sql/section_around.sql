-- Where the sections of chunks begin and end in their document's text: from the nearest chunk before that has other
-- headings to the nearest one after it, or to the first one that is not there any more: what was taken out must not be
-- shown between others. Chunks above the first heading are a section, too. Plan: for each chunk the index
-- (document_id, ordinal), walked both ways no further than the section goes, then a range of it.
SELECT chunk.id, chunk.document_id, around.first, around.last
FROM collections_chunk AS chunk
JOIN collections_documenttext AS extracted ON extracted.document_id = chunk.document_id
LEFT JOIN LATERAL (
    SELECT near.ordinal
    FROM collections_chunk AS near
    WHERE near.document_id = chunk.document_id
      AND near.ordinal < chunk.ordinal
      AND (near.section_path[1:cardinality(chunk.section_path)] <> chunk.section_path
           OR (chunk.section_path = '{}' AND near.section_path <> '{}'))
    ORDER BY near.ordinal DESC
    LIMIT 1
) AS before ON TRUE
LEFT JOIN LATERAL (
    SELECT near.ordinal
    FROM collections_chunk AS near
    WHERE near.document_id = chunk.document_id
      AND near.ordinal > chunk.ordinal
      AND (near.section_path[1:cardinality(chunk.section_path)] <> chunk.section_path
           OR (chunk.section_path = '{}' AND near.section_path <> '{}'))
    ORDER BY near.ordinal
    LIMIT 1
) AS after ON TRUE
CROSS JOIN LATERAL (
    SELECT min(near.start_offset) AS first, max(near.end_offset) AS last
    FROM (
        -- The same number for chunks without a gap between them.
        SELECT ordinal, start_offset, end_offset, ordinal - row_number() OVER (ORDER BY ordinal) AS island
        FROM collections_chunk
        WHERE document_id = chunk.document_id
          AND ordinal > coalesce(before.ordinal, -1)
          AND ordinal < coalesce(after.ordinal, 2147483647)
          AND start_offset IS NOT NULL
          AND disabled_at IS NULL
    ) AS near
    GROUP BY near.island
    HAVING bool_or(near.ordinal = chunk.ordinal)
) AS around
WHERE chunk.id = ANY(%(chunk_ids)s::bigint[])
