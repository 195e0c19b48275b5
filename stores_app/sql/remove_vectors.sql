-- Vectors of these chunks in every generation of their collection. Plan: index on chunk_id.
DELETE FROM stores_vector AS vector
USING collections_generation AS generation
WHERE generation.id = vector.generation_id
  AND generation.collection_id = %(collection_id)s
  AND vector.chunk_id = ANY(%(chunk_ids)s::bigint[])
