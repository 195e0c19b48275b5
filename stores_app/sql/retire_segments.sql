-- Segments that serve no search any more, out of sight from the commit on. Their postings, about a block for each chunk,
-- are deleted afterwards: readers and the caller need not wait for that. Plan: primary key.
UPDATE stores_segment SET retired = true WHERE id = ANY(%(segment_ids)s::bigint[])
