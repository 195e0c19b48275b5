-- Up to which chunk a collection's words are indexed in a language; chunks come in the order of their ids.
-- Plan: index on stores_segment.collection_id.
SELECT coalesce(max(last_chunk_id), 0)
FROM stores_segment
WHERE collection_id = %(collection_id)s
  AND language = %(language)s
  AND NOT retired
