-- Every segment of a collection. Plan: index on collection_id.
DELETE FROM stores_segment WHERE collection_id = %(collection_id)s
