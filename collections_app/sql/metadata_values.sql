-- The values of one key of the metadata, arrays unfolded. Distinct first: a hundred thousand rows have few
-- values, and only those are taken apart. Plan: one scan of the collection's chunks, then hash aggregates.
WITH given AS (
    SELECT DISTINCT chunk.metadata -> %(field)s AS value
    FROM collections_chunk AS chunk
    WHERE chunk.collection_id = %(collection_id)s
)
SELECT value FROM given WHERE jsonb_typeof(value) IN ('string', 'number', 'boolean')
UNION
SELECT element
FROM given
CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(value) WHEN 'array' THEN value ELSE '[]' END) AS element
WHERE jsonb_typeof(element) IN ('string', 'number', 'boolean')
LIMIT %(limit)s
