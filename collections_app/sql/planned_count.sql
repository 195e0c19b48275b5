-- How many chunks the planner thinks a collection has; they are not counted.
EXPLAIN (FORMAT JSON)
SELECT FROM collections_chunk WHERE collection_id = %(collection_id)s
