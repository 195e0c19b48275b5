-- Vectors of a generation below a watermark and above it, and the last chunk that has one.
-- Plan: primary key (generation_id, chunk_id) alone where the table was vacuumed.
SELECT count(*) FILTER (WHERE chunk_id <= %(watermark)s),
       count(*) FILTER (WHERE chunk_id > %(watermark)s),
       max(chunk_id)
FROM stores_vector
WHERE generation_id = %(generation_id)s
