-- Chunks of a collection that its placement does not have as they are here, with their keys where they are still here.
-- One more than wanted tells that there are too many. Plan: the partial indexes; then unique index
-- (collection_id, external_id), once for each.
SELECT stale.external_id, chunk.id
FROM (
    (
        SELECT external_id FROM stores_outgoing
        WHERE placement_id = %(placement_id)s AND (external_id IS NULL OR refused <> '')
        LIMIT %(limit)s
    )
    UNION ALL
    (
        SELECT external_id FROM stores_outgoing
        WHERE placement_id = %(placement_id)s AND external_id IS NOT NULL AND refused = ''
        LIMIT %(limit)s
    )
) AS stale
LEFT JOIN collections_chunk AS chunk
    ON chunk.collection_id = %(collection_id)s AND chunk.external_id = stale.external_id
