-- The generations of a collection besides the one to keep; 0 keeps none. Plan: index on collection_id.
DELETE FROM collections_generation WHERE collection_id = %(collection_id)s AND id <> %(keep)s
