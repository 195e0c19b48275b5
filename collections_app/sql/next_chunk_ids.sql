-- Keys for new chunks, ascending: a COPY returns none, and vectors and postings need them.
SELECT nextval('collections_chunk_id_seq') FROM generate_series(1, %(count)s)
