-- A document's text goes with it.
ALTER TABLE collections_documenttext
    ADD CONSTRAINT documenttext_document_fk FOREIGN KEY (document_id)
    REFERENCES collections_document (id) ON DELETE CASCADE NOT DEFERRABLE;
