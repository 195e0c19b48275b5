-- How long the texts are that chunks are from. Of a document that lost chunks (without a hash, see recount_documents),
-- or has some that are disabled or say something else, the stretch around each up to the first one that is not there
-- any more: what was taken out must not be shown between others. Plan: the keys of chunk, document and documenttext;
-- chunk_document_marked tells whether it was changed; all of the index (document_id, ordinal) of a document only then,
-- and once.
WITH wanted AS MATERIALIZED (
    SELECT
        chunk.id,
        chunk.document_id,
        chunk.ordinal,
        document.content_hash = '' OR EXISTS (
            SELECT FROM collections_chunk AS other
            WHERE other.document_id = chunk.document_id
              AND (other.disabled_at IS NOT NULL OR other.edited_at IS NOT NULL)
              AND (other.disabled_at IS NOT NULL OR other.start_offset IS NULL)
        ) AS is_changed
    FROM collections_chunk AS chunk
    JOIN collections_document AS document ON document.id = chunk.document_id
    WHERE chunk.id = ANY(%(chunk_ids)s::bigint[])
),
changed AS (
    SELECT DISTINCT document_id FROM wanted WHERE is_changed
),
island AS (
    SELECT
        near.document_id,
        min(near.ordinal) AS first_ordinal,
        max(near.ordinal) AS last_ordinal,
        min(near.start_offset) AS first,
        max(near.end_offset) AS last
    FROM changed
    CROSS JOIN LATERAL (
        -- The same number for chunks without a gap between them.
        SELECT document_id, ordinal, start_offset, end_offset, ordinal - row_number() OVER (ORDER BY ordinal) AS number
        FROM collections_chunk
        WHERE document_id = changed.document_id
          AND start_offset IS NOT NULL
          AND disabled_at IS NULL
    ) AS near
    GROUP BY near.document_id, near.number
)
SELECT
    wanted.id,
    wanted.document_id,
    CASE WHEN wanted.is_changed THEN island.first ELSE 0 END,
    CASE WHEN wanted.is_changed THEN island.last ELSE char_length(extracted.text) END
FROM wanted
JOIN collections_documenttext AS extracted ON extracted.document_id = wanted.document_id
LEFT JOIN island
    ON island.document_id = wanted.document_id
    AND wanted.ordinal BETWEEN island.first_ordinal AND island.last_ordinal
