-- Some of the segments that were put out of sight, with their postings. Plan: index segment_retired.
DELETE FROM stores_segment
WHERE id IN (SELECT id FROM stores_segment WHERE retired ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED)
RETURNING id
