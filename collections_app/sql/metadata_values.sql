-- The first values of one key of the metadata, arrays unfolded: booleans, numbers, strings by their code points.
-- Distinct first: a hundred thousand rows have few values, and only those are taken apart. Plan: one scan of the
-- collection's chunks, then hash aggregates, then a sort of what is left.
WITH given AS (
    SELECT DISTINCT chunk.metadata -> %(field)s AS value
    FROM collections_chunk AS chunk
    WHERE chunk.collection_id = %(collection_id)s
), found AS (
    SELECT value, jsonb_typeof(value) AS kind FROM given
    UNION
    SELECT element, jsonb_typeof(element)
    FROM given
    CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(value) WHEN 'array' THEN value ELSE '[]' END) AS element
)
SELECT value
FROM found
WHERE kind IN ('string', 'number', 'boolean')
ORDER BY kind, CASE kind WHEN 'number' THEN value::numeric END, (value #>> '{}') COLLATE "C"
LIMIT %(limit)s
