-- The same of the next so many chunks alone, for a filter that no index answers. The inner select has the order, and
-- ends where it is told to. Plan: as browse_chunks.sql without the filter.
SELECT
    chunk.id,
    {key},
    chunk.collection_id,
    chunk.document_id,
    replace(left(chunk.text, %(characters)s), E'\n', ' '),
    chunk.section_path,
    chunk.page,
    chunk.ordinal,
    chunk.disabled_at IS NOT NULL,
    chunk.edited_at IS NOT NULL
FROM (
    SELECT *
    FROM collections_chunk AS chunk
    WHERE {scope}
      AND {state}
      AND {from_key}
    ORDER BY {order}
    LIMIT %(looked_at)s
) AS chunk
WHERE {where}
LIMIT %(limit)s
