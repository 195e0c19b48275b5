-- What decides over merges, for one collection.
SELECT id, size, live, length, language FROM stores_segment WHERE collection_id = %(collection_id)s AND NOT retired
