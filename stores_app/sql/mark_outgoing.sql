-- Note that these chunks, whose rows are still there, are not any more what the collection's placements have.
-- Plan: primary key of the chunks; a collection has at most two placements.
INSERT INTO stores_outgoing (placement_id, external_id)
SELECT placement.id, chunk.external_id
FROM collections_chunk AS chunk
JOIN stores_placement AS placement ON placement.collection_id = %(collection_id)s
WHERE chunk.id = ANY(%(chunk_ids)s::bigint[])
ON CONFLICT (placement_id, external_id)
    DO UPDATE SET id = nextval(pg_get_serial_sequence('stores_outgoing', 'id')), refused = ''
