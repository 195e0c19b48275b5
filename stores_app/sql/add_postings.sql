-- Loads the packed postings of one segment, in the order of terms.
COPY stores_posting (collection_id, term, segment_id, data) FROM STDIN (FORMAT binary)
