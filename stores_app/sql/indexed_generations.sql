-- Of these generations, those that have vectors up to their watermarks. Plan: primary key, one row of each.
SELECT index.generation_id
FROM unnest(%(generation_ids)s::bigint[], %(watermarks)s::bigint[]) AS index (generation_id, watermark)
WHERE EXISTS (
    SELECT FROM stores_vector AS vector
    WHERE vector.generation_id = index.generation_id AND vector.chunk_id <= index.watermark
)
