-- Copies the vectors that are kept of disabled chunks, those of the original's active generation.
-- Plan: the primary key of the kept vectors, once for each pair of chunks.
INSERT INTO collections_keptvector (chunk_id, generation_id, numbers)
SELECT pair.copied, %(new)s, kept.numbers
FROM unnest(%(originals)s::bigint[], %(copies)s::bigint[]) AS pair (original, copied)
JOIN collections_keptvector AS kept ON kept.chunk_id = pair.original AND kept.generation_id = %(old)s
