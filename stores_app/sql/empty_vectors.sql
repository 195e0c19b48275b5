-- Every vector of a collection, in all its generations. Plan: primary key (generation_id, chunk_id), or the table.
DELETE FROM stores_vector
WHERE generation_id IN (SELECT id FROM collections_generation WHERE collection_id = %(collection_id)s)
