-- All that scoring needs, in one statement and so from one snapshot: every segment of the collection that is in use
-- (its sizes; its tombstones where it has some), then the postings of the query's terms.
-- Plan: index on stores_segment.collection_id; primary key (collection_id, term, segment_id) of postings.
SELECT NULL::text AS term, id AS segment_id, dead AS data, size, live, live_length
FROM stores_segment
WHERE collection_id = %(collection_id)s
  AND NOT retired
UNION ALL
SELECT term, segment_id, data, NULL, NULL, NULL
FROM stores_posting
WHERE collection_id = %(collection_id)s
  AND term = ANY(%(terms)s::text[])
