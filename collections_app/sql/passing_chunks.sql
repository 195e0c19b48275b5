-- Which of some chunks a filter lets through. Plan: the primary key, then the filter on those few rows.
SELECT chunk.id
FROM collections_chunk AS chunk
WHERE chunk.id = ANY (%(chunk_ids)s)
  AND {where}
