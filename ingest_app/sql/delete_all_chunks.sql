-- Every chunk of a collection. Plan: index on (collection_id, id); the vectors went before, so the foreign key's
-- trigger finds nothing for each row.
DELETE FROM collections_chunk WHERE collection_id = %(collection_id)s
