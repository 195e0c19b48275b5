-- Of each collection asked for: documents that are ready and have no chunk, those whose last attempt failed, and the
-- bytes of all. Plan: one pass over the documents of these collections by the unique index (collection, source).
SELECT collection_id,
       count(*) FILTER (WHERE state = 'ready' AND chunk_count = 0),
       count(*) FILTER (WHERE error <> ''),
       coalesce(sum(size_bytes), 0)::bigint
FROM collections_document
WHERE collection_id = ANY(%(collections)s)
GROUP BY collection_id
