-- All chunks of a collection, for what else looks at some of them. Plan: index (collection_id, id).
SELECT chunk.id, chunk.external_id, chunk.text, chunk.metadata, chunk.collection_id
FROM collections_chunk AS chunk
WHERE chunk.collection_id = %(collection_id)s
