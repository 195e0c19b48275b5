-- The keys of the metadata of some chunks: in how many they are and with which types of values, and the most frequent
-- values of each, lists unfolded. Long values are none that anybody chooses from a list.
-- Plan: the rows are read once; all else are hash aggregates over the pairs of keys and values that they hold.
WITH looked_at AS MATERIALIZED (
    {rows}
), pairs AS MATERIALIZED (
    SELECT key, value, jsonb_typeof(value) AS type
    FROM looked_at
    CROSS JOIN LATERAL jsonb_each(looked_at.metadata)
), keys AS MATERIALIZED (
    SELECT key, count(*) AS present FROM pairs GROUP BY key ORDER BY present DESC, key COLLATE "C" LIMIT %(most_keys)s
), whole AS MATERIALIZED (
    SELECT key, value, type, count(*) AS found
    FROM pairs
    WHERE key IN (SELECT key FROM keys) AND pg_column_size(value) <= 2000
    GROUP BY key, value, type
), single AS MATERIALIZED (
    SELECT key, value, type, FALSE AS in_list, found FROM whole WHERE type <> 'array'
    UNION ALL
    SELECT key, element, jsonb_typeof(element), TRUE, sum(found)
    FROM whole
    CROSS JOIN LATERAL jsonb_array_elements(CASE type WHEN 'array' THEN value ELSE '[]' END) AS element
    GROUP BY key, element
), typed AS MATERIALIZED (
    SELECT key, value, in_list, found,
           CASE WHEN type = 'string' AND (value #>> '{{}}') COLLATE "C" ~ %(iso_date)s THEN 'date' ELSE type END AS type
    FROM single
), ranked AS (
    SELECT key, value, sum(found) AS found,
           row_number() OVER (PARTITION BY key ORDER BY sum(found) DESC, min(value #>> '{{}}') COLLATE "C") AS place
    FROM typed
    WHERE type IN ('string', 'date', 'number', 'boolean') AND length(value #>> '{{}}') <= %(longest)s
    GROUP BY key, value
)
SELECT part, key, value, type, found
FROM (
    SELECT 'rows' AS part, NULL AS key, NULL::jsonb AS value, NULL AS type, count(*)::bigint AS found, 0 AS place
    FROM looked_at
    UNION ALL
    SELECT 'key', key, NULL, NULL, present, 0 FROM keys
    UNION ALL
    SELECT 'type', key, NULL, type, count(*), 0 FROM pairs
    WHERE key IN (SELECT key FROM keys) AND (type = 'array' OR pg_column_size(value) > 2000) GROUP BY key, type
    UNION ALL
    SELECT CASE WHEN in_list THEN 'element' ELSE 'type' END, key, NULL, type, sum(found)::bigint, 0
    FROM typed GROUP BY in_list, key, type
    UNION ALL
    SELECT 'value', key, value, NULL, found::bigint, place FROM ranked WHERE place <= %(most_values)s
) AS parts
ORDER BY part, place, found DESC, key, type
