ALTER TABLE collections_alias
    ADD CONSTRAINT alias_collection_fk FOREIGN KEY (collection_id)
    REFERENCES collections_collection (id) ON DELETE CASCADE NOT DEFERRABLE;
-- Until now chunks were listed by key; and what the API shows as metadata of an ingested chunk was put
-- together when it was read, out of a filter's sight.
UPDATE collections_chunk AS chunk
SET position = chunk.id,
    metadata = CASE WHEN document.id IS NULL THEN chunk.metadata
                    ELSE chunk.metadata || jsonb_build_object(
                        'source', document.source,
                        'page_number', chunk.page,
                        'chunk_index', chunk.ordinal,
                        'section', array_to_string(chunk.section_path, ' > '))
               END
FROM collections_chunk AS same
LEFT JOIN collections_document AS document ON document.id = same.document_id
WHERE same.id = chunk.id;
