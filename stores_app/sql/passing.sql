-- Which of these chunks a filter lets through. Plan: the primary key, once for each.
SELECT chunk.id
FROM unnest(%(chunk_ids)s::bigint[]) AS wanted (id)
JOIN collections_chunk AS chunk ON chunk.id = wanted.id
WHERE {where}
