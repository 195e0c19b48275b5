-- Values of one key of the metadata that hold what was typed, lists unfolded: those that begin with it first, then the
-- most frequent. Plan: the rows are read once, then hash aggregates over what stands under the key.
WITH looked_at AS MATERIALIZED (
    {rows}
), whole AS (
    SELECT looked_at.metadata -> %(field)s AS value, count(*) AS found
    FROM looked_at
    WHERE pg_column_size(looked_at.metadata -> %(field)s) <= 2000
    GROUP BY 1
), single AS (
    SELECT value, sum(found) AS found
    FROM (
        SELECT value, found FROM whole WHERE jsonb_typeof(value) IN ('string', 'number', 'boolean')
        UNION ALL
        SELECT element, found
        FROM whole
        CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(value) WHEN 'array' THEN value ELSE '[]' END) AS element
        WHERE jsonb_typeof(element) IN ('string', 'number', 'boolean')
    ) AS unfolded
    GROUP BY value
), named AS (
    SELECT value, found, strpos(lower(value #>> '{{}}'), lower(%(typed)s::text)) AS place, value #>> '{{}}' AS shown
    FROM single
)
SELECT value, found::bigint
FROM named
WHERE (place > 0 OR %(typed)s::text = '') AND length(shown) <= %(longest)s
ORDER BY place > 1, found DESC, shown COLLATE "C"
LIMIT %(limit)s
