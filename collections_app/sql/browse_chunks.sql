-- One page of chunks for people, without their texts: a little more than a page is read, wherever it begins. The rows
-- are the table's or, for a filter that no index answers, the next so many of them (browse_chunks_part.sql).
-- Plan: the index that has the order of the key, from the key on: the primary key, (collection_id, id),
-- (document_id, ordinal), or the partial ones over what was disabled or edited; the GIN index on metadata and a sort
-- where a filter lets few chunks through.
SELECT
    {key},
    chunk.id,
    chunk.collection_id,
    chunk.document_id,
    replace(left(chunk.text, %(characters)s), E'\n', ' '),
    chunk.section_path,
    chunk.page,
    chunk.ordinal,
    chunk.disabled_at IS NOT NULL,
    chunk.edited_at IS NOT NULL
FROM {rows}
WHERE {scope}
  AND {from_key}
  AND {where}
ORDER BY {order}
LIMIT %(limit)s
