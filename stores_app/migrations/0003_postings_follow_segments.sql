-- A foreign key looks its parent up for each row: of adding a thousand chunks with their seventeen thousand
-- postings that was a quarter. Postings are only written together with their segment, in one transaction;
-- what is left to see to is that they go with it, and one statement does that for any number of segments.
ALTER TABLE stores_posting
    DROP CONSTRAINT posting_collection_fk,
    DROP CONSTRAINT posting_segment_fk;

CREATE FUNCTION stores_drop_postings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM stores_posting USING gone WHERE stores_posting.segment_id = gone.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER segment_takes_postings_along
    AFTER DELETE ON stores_segment
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION stores_drop_postings();
