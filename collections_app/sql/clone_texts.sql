-- Copies what was read out of the documents of a collection, once the documents are copied.
-- Plan: the unique index (collection, source) of both, and the primary key of the texts.
INSERT INTO collections_documenttext (document_id, text, outline, source_digest, given_title)
SELECT copied.id, kept.text, kept.outline, kept.source_digest, kept.given_title
FROM collections_document AS original
JOIN collections_document AS copied ON copied.collection_id = %(target)s AND copied.source = original.source
JOIN collections_documenttext AS kept ON kept.document_id = original.id
WHERE original.collection_id = %(source)s
