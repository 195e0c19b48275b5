-- What decides over merges, for one collection.
SELECT id, size, live, length, language, analysis
FROM stores_segment
WHERE collection_id = %(collection_id)s AND NOT retired
ORDER BY id
