-- A collection's filters go with it.
ALTER TABLE collections_namedfilter
    ADD CONSTRAINT namedfilter_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE;
