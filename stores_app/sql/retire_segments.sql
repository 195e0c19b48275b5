-- Every segment of a collection, out of sight from the commit on. Their postings, about a block for each chunk, are
-- deleted afterwards: readers and the caller need not wait for that. Plan: index on collection_id.
UPDATE stores_segment SET retired = true WHERE collection_id = %(collection_id)s
