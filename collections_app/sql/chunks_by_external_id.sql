-- Where the chunks with these external ids are. Plan: unique index (collection_id, external_id).
SELECT external_id, id, position, document_id
FROM collections_chunk
WHERE collection_id = %(collection_id)s
  AND external_id = ANY(%(external_ids)s::text[])
