-- What is read of segments to score a query: every one of them (its tombstones where they are wanted), then of each the
-- block where each of the terms is, if the segment has it at all.
-- Plan: the primary key of stores_segment; a descent of the primary key (segment_id, first_term) for each pair.
WITH used AS MATERIALIZED (
    SELECT id, buried, CASE WHEN id = ANY(%(with_dead)s::bigint[]) THEN dead END AS dead
    FROM stores_segment
    WHERE id = ANY(%(segment_ids)s::bigint[])
)
SELECT NULL::text AS term, id AS segment_id, dead AS data, buried
FROM used
UNION ALL
SELECT asked.term, used.id, block.data, NULL
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
