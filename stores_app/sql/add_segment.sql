-- One new part of a collection's word index.
INSERT INTO stores_segment
    (collection_id, language, analysis, size, live, live_length, length, first_chunk_id, last_chunk_id, chunk_ids,
     lengths, dead)
VALUES
    (%(collection_id)s, %(language)s, %(analysis)s, %(size)s, %(size)s, %(live_length)s, %(live_length)s,
     %(first_chunk_id)s, %(last_chunk_id)s, %(chunk_ids)s, %(lengths)s, '')
RETURNING id
