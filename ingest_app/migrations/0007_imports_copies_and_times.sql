-- The pieces of a file go with their job. Numbers in base64 hardly get smaller.
ALTER TABLE ingest_uploadpart
    ADD CONSTRAINT uploadpart_job_fk FOREIGN KEY (job_id)
    REFERENCES ingest_job (id) ON DELETE CASCADE NOT DEFERRABLE;
ALTER TABLE ingest_uploadpart ALTER COLUMN content SET STORAGE EXTERNAL;
