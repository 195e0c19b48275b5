-- The keys of one page of documents for people. The rows are the table's or, for what no index answers, the next so
-- many of them (browse_documents_part.sql).
-- Plan: the primary key, or the index (collection_id, id), from the key on. With a filter a semi-join with the chunks,
-- by the index (document_id, ordinal), or from the GIN index on their metadata where it lets few of them through.
SELECT {key}
FROM {rows}
WHERE {scope}
  AND {from_key}
  AND {where}
ORDER BY {order}
LIMIT %(limit)s
