-- Postings of segments that are about to be merged, equal terms together.
-- Materialised, because a cursor is planned for its first rows: they would come in order from the
-- primary key, by way of every other posting of the collection. Plan: index on segment_id, then a sort.
WITH chosen AS MATERIALIZED (
    SELECT term, segment_id, data FROM stores_posting WHERE segment_id = ANY(%(segment_ids)s::bigint[])
)
SELECT term, segment_id, data FROM chosen ORDER BY term COLLATE "C"
