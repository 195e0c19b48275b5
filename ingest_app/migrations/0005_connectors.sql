-- Connectors go with their collection; what they did stays known when they go themselves.
ALTER TABLE ingest_connector
    ADD CONSTRAINT connector_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE ingest_job
    ADD CONSTRAINT job_connector_fk FOREIGN KEY (connector_id)
    REFERENCES ingest_connector (id) ON DELETE SET NULL NOT DEFERRABLE;
