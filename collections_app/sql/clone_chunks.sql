-- Copies the next chunks of a collection in their order, once the documents are copied; keys are new, external ids stay.
-- Returns the key of each with that of its copy, whether it is disabled, and its position, in the order of the copies.
-- Plan: the index (collection, position) from `after` on, then the primary key of the documents and the unique index
-- (collection, source).
WITH numbered AS MATERIALIZED (
    SELECT nextval('collections_chunk_id_seq') AS key, ordered.*
    FROM (
        SELECT * FROM collections_chunk
        WHERE collection_id = %(source)s AND position > %(after)s
        ORDER BY position LIMIT %(limit)s
    ) AS ordered
), copied AS (
    INSERT INTO collections_chunk (
        id, collection_id, document_id, external_id, text, metadata, section_path, page, start_offset, end_offset,
        parent_start, parent_end, ordinal, position, disabled_at, edited_at, original_text
    )
    SELECT numbered.key, %(target)s, copied.id, numbered.external_id, numbered.text, numbered.metadata,
           numbered.section_path, numbered.page, numbered.start_offset, numbered.end_offset,
           numbered.parent_start, numbered.parent_end, numbered.ordinal, numbered.key,
           numbered.disabled_at, numbered.edited_at, numbered.original_text
    FROM numbered
    LEFT JOIN collections_document AS original ON original.id = numbered.document_id
    LEFT JOIN collections_document AS copied ON copied.collection_id = %(target)s AND copied.source = original.source
)
SELECT id, key, disabled_at IS NOT NULL, position FROM numbered ORDER BY key
