-- How many chunks a list has, counted no further than a limit. Plan: as browse_chunks.sql, without the sort.
SELECT count(*)
FROM (
    SELECT FROM collections_chunk AS chunk
    WHERE {scope}
      AND {state}
      AND {where}
    LIMIT %(most)s
) AS counted
