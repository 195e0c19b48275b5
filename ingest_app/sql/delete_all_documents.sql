-- Every document of a collection, those without a chunk too. Plan: index on (collection_id, source).
DELETE FROM collections_document WHERE collection_id = %(collection_id)s
