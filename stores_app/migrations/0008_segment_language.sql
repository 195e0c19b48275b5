-- Until now all segments of a collection were in its language.
UPDATE stores_segment AS segment
SET language = collection.language
FROM collections_collection AS collection
WHERE collection.id = segment.collection_id
