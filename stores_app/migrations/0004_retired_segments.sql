-- The key of a vector's chunk was looked up for each vector that came, and searched for each chunk that went.
-- Vectors are only written together with their chunks, and go with them by one statement for any number.
ALTER TABLE stores_vector DROP CONSTRAINT vector_chunk_fk;

CREATE FUNCTION stores_drop_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM stores_vector USING gone WHERE stores_vector.chunk_id = gone.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER chunk_takes_vectors_along
    AFTER DELETE ON collections_chunk
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION stores_drop_vectors();

-- Few, and looked for before each search and each reclaiming.
CREATE INDEX segment_retired ON stores_segment (id) WHERE retired;
