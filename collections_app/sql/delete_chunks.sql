-- Chunks by key. Vectors that are left go with them by the foreign key's index.
DELETE FROM collections_chunk WHERE id = ANY(%(chunk_ids)s::bigint[])
