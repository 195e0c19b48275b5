-- The postings of one segment that is about to be merged. Plan: primary key (segment_id, first_term).
SELECT data FROM stores_postingblock WHERE segment_id = %(segment_id)s ORDER BY first_term
