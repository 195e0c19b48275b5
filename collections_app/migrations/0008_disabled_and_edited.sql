-- A vector that is kept goes with its chunk, and with the generation it belongs to. With its chunk by one statement for
-- any number: a foreign key would be looked up for each of the chunks that go, which hardly ever have one.
CREATE FUNCTION collections_drop_kept_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM collections_keptvector USING gone WHERE collections_keptvector.chunk_id = gone.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER chunk_takes_kept_vectors_along
    AFTER DELETE ON collections_chunk
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION collections_drop_kept_vectors();

ALTER TABLE collections_keptvector
    ADD CONSTRAINT keptvector_generation_fk FOREIGN KEY (generation_id)
    REFERENCES collections_generation (id) ON DELETE CASCADE NOT DEFERRABLE;
