-- Whether a collection has more chunks than so many. Plan: the index alone, as far as the limit.
SELECT count(*)
FROM (SELECT FROM collections_chunk WHERE collection_id = %(collection_id)s LIMIT %(most)s) AS counted
