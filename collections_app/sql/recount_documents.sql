-- Documents that lost single chunks: counted anew, and no longer what their source would give,
-- so that ingesting the source again is not taken for unchanged. Plan: index (document_id, ordinal).
UPDATE collections_document AS document
SET chunk_count = (SELECT count(*) FROM collections_chunk AS chunk WHERE chunk.document_id = document.id),
    content_hash = ''
WHERE document.id = ANY(%(document_ids)s::bigint[])
