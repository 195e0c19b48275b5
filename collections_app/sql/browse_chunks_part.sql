-- The next chunks of a list, for a filter that no index answers: so many, in the order of the list.
-- Plan: as browse_chunks.sql without the filter.
SELECT *
FROM collections_chunk AS chunk
WHERE {scope}
  AND {from_key}
ORDER BY {order}
LIMIT %(looked_at)s
