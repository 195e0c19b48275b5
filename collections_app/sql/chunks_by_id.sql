-- Chunks by their keys, whole. Plan: primary key.
SELECT * FROM collections_chunk WHERE id = ANY(%(chunk_ids)s::bigint[])
