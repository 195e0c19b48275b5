-- The length of a generation's longest vector. Reads them all.
SELECT max(vector_norm(embedding)) FROM stores_vector WHERE generation_id = %(generation_id)s
