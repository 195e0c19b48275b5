-- Packed integers do not compress; most blocks are small enough to stay in their rows.
ALTER TABLE stores_postingblock ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE OR REPLACE FUNCTION stores_drop_postings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM stores_postingblock USING gone WHERE stores_postingblock.segment_id = gone.id;
    RETURN NULL;
END
$$;
