-- All that scoring needs, in one statement and so from one snapshot: every segment of the collections that is in use
-- in the language (its sizes; its tombstones where it has some), then of each segment the block where each of the query's terms is,
-- if the segment has it at all.
-- Plan: index on stores_segment.collection_id; a descent of the primary key (segment_id, first_term) for each pair.
WITH used AS MATERIALIZED (
    SELECT id, dead, size, live, live_length
    FROM stores_segment
    WHERE collection_id = ANY(%(collection_ids)s::bigint[])
      AND language = %(language)s
      AND NOT retired
)
SELECT NULL::text AS term, id AS segment_id, dead AS data, size, live, live_length
FROM used
UNION ALL
SELECT asked.term, used.id, block.data, NULL, NULL, NULL
FROM used
CROSS JOIN unnest(%(terms)s::text[]) AS asked (term)
CROSS JOIN LATERAL (
    SELECT data
    FROM stores_postingblock
    WHERE segment_id = used.id
      AND first_term <= asked.term COLLATE "C"
    ORDER BY first_term DESC
    LIMIT 1
) AS block
