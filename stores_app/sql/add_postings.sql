-- Loads the postings of one segment, in the order of terms.
COPY stores_postingblock (segment_id, first_term, data) FROM STDIN (FORMAT binary)
