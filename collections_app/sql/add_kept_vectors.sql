-- Loads vectors of disabled chunks, which no search finds.
COPY collections_keptvector (chunk_id, generation_id, numbers)
FROM STDIN (FORMAT binary)
