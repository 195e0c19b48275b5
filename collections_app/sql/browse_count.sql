-- How many rows a list has, counted no further than a limit. Plan: as the list's own statement, without the sort.
SELECT count(*)
FROM (
    SELECT
    FROM {rows}
    WHERE {scope}
      AND {where}
    LIMIT %(most)s
) AS counted
