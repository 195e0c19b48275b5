-- Segments together with their postings, which a trigger takes along by the primary key.
DELETE FROM stores_segment WHERE id = ANY(%(segment_ids)s::bigint[])
