-- Jobs go with their collection, items with their job, payloads with their item.
ALTER TABLE ingest_job
    ADD CONSTRAINT job_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE ingest_item
    ADD CONSTRAINT item_job_fk FOREIGN KEY (job_id)
    REFERENCES ingest_job (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE ingest_payload
    ADD CONSTRAINT payload_item_fk FOREIGN KEY (item_id)
    REFERENCES ingest_item (id) ON DELETE CASCADE NOT DEFERRABLE;
-- Files are often compressed already.
ALTER TABLE ingest_payload ALTER COLUMN content SET STORAGE EXTERNAL;
