-- How long the texts are that chunks are from. Plan: the keys of chunk and documenttext.
SELECT chunk.id, chunk.document_id, 0, char_length(extracted.text)
FROM collections_chunk AS chunk
JOIN collections_documenttext AS extracted ON extracted.document_id = chunk.document_id
WHERE chunk.id = ANY(%(chunk_ids)s::bigint[])
