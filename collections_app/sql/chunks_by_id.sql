-- Chunks by their keys, as a search shows them: without a parent where a passage that is disabled shares it, since its
-- text would be shown, too. Plan: primary key; for each chunk with a parent the few rows of an index over
-- what is disabled.
SELECT
    chunk.id,
    chunk.collection_id,
    chunk.document_id,
    chunk.external_id,
    chunk.text,
    chunk.metadata,
    chunk.section_path,
    chunk.page,
    chunk.start_offset,
    chunk.end_offset,
    CASE WHEN hidden.is_hidden THEN NULL ELSE chunk.parent_start END AS parent_start,
    CASE WHEN hidden.is_hidden THEN NULL ELSE chunk.parent_end END AS parent_end,
    chunk.ordinal,
    chunk.position
FROM collections_chunk AS chunk
LEFT JOIN LATERAL (
    SELECT TRUE AS is_hidden
    FROM collections_chunk AS other
    WHERE chunk.parent_start IS NOT NULL
      AND other.document_id = chunk.document_id
      AND other.disabled_at IS NOT NULL
      AND other.parent_start = chunk.parent_start
      AND other.parent_end = chunk.parent_end
    LIMIT 1
) AS hidden ON TRUE
WHERE chunk.id = ANY(%(chunk_ids)s::bigint[])
