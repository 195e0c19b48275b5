-- One HNSW index over a generation's vectors up to a watermark. With pgvector's own ef_construction of 64 some
-- vectors that lie apart were hardly ever found.
CREATE INDEX CONCURRENTLY {name} ON stores_vector
USING hnsw (({key}::halfvec({dimension})) {operator_class}) WITH (m = 12, ef_construction = 128)
WHERE generation_id = {generation} AND chunk_id <= {watermark}
