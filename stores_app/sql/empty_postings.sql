-- Every posting of a collection, before its segments: those take theirs along segment by segment.
-- Plan: primary key (collection_id, term, segment_id).
DELETE FROM stores_posting WHERE collection_id = %(collection_id)s
