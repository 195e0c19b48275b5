-- Vectors and words go with the chunks and collections they belong to.
ALTER TABLE stores_vector
    ADD CONSTRAINT vector_generation_fk FOREIGN KEY (generation_id)
    REFERENCES collections_generation (id) ON DELETE CASCADE NOT DEFERRABLE,
    ADD CONSTRAINT vector_chunk_fk FOREIGN KEY (chunk_id)
    REFERENCES collections_chunk (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE stores_segment
    ADD CONSTRAINT segment_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE stores_posting
    ADD CONSTRAINT posting_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE,
    ADD CONSTRAINT posting_segment_fk FOREIGN KEY (segment_id)
    REFERENCES stores_segment (id) ON DELETE CASCADE NOT DEFERRABLE;

-- Inline vectors: out of line an exact scan of 100,000 takes 1.3 s instead of 0.2 s.
ALTER TABLE stores_vector ALTER COLUMN embedding SET STORAGE MAIN;
-- Packed integers do not compress; slices of them are read without detoasting the whole.
ALTER TABLE stores_posting ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE stores_segment ALTER COLUMN chunk_ids SET STORAGE EXTERNAL;
ALTER TABLE stores_segment ALTER COLUMN lengths SET STORAGE EXTERNAL;
