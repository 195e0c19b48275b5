-- Segments together with their postings, which the foreign key takes along by the index on segment_id.
DELETE FROM stores_segment WHERE id = ANY(%(segment_ids)s::bigint[])
