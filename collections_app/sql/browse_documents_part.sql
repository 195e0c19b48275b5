-- The next documents of a list, for what no index answers: so many, or fewer where they hold more chunks than are
-- looked at for a page of those. Plan: the primary key, or the index (collection_id, id), from the key on.
SELECT document.id, document.collection_id, document.source, document.title, document.state, document.error
FROM (
    SELECT *, sum(document.chunk_count) OVER (ORDER BY {order}) - document.chunk_count AS chunks_before
    FROM (
        SELECT *
        FROM collections_document AS document
        WHERE {scope}
          AND {from_key}
        ORDER BY {order}
        LIMIT %(looked_at)s
    ) AS document
) AS document
WHERE NOT %(asks_chunks)s OR document.chunks_before < %(looked_at)s
ORDER BY {order}
