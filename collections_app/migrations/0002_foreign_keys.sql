-- Deleting a row takes what belongs to it along in the same statement; errors surface where they happen.
ALTER TABLE collections_generation
    ADD CONSTRAINT generation_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE collections_collection
    ADD CONSTRAINT collection_active_generation_fk FOREIGN KEY (active_generation_id)
    REFERENCES collections_generation (id) ON DELETE SET NULL NOT DEFERRABLE;
ALTER TABLE collections_document
    ADD CONSTRAINT document_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE collections_chunk
    ADD CONSTRAINT chunk_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE,
    ADD CONSTRAINT chunk_document_fk FOREIGN KEY (document_id)
    REFERENCES collections_document (id) ON DELETE CASCADE NOT DEFERRABLE;
