-- Note all chunks of a collection that have a vector for one placement. Plan: index (collection_id, id), and the
-- vectors' primary key; once for each move.
INSERT INTO stores_outgoing (placement_id, external_id)
SELECT %(placement_id)s, chunk.external_id
FROM collections_chunk AS chunk
JOIN stores_vector AS vector ON vector.generation_id = %(generation_id)s AND vector.chunk_id = chunk.id
WHERE chunk.collection_id = %(collection_id)s
ORDER BY chunk.id
ON CONFLICT (placement_id, external_id)
    DO UPDATE SET id = nextval(pg_get_serial_sequence('stores_outgoing', 'id')), refused = ''
