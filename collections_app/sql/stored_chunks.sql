-- What callers see of chunks, by their keys. Plan: primary key.
SELECT id, external_id, text, metadata, disabled_at IS NOT NULL FROM collections_chunk WHERE id = ANY(%(chunk_ids)s::bigint[])
