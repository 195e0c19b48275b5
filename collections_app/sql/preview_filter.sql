-- How many chunks of a collection a filter lets through, no further than a limit, and the first of them.
-- Plan: GIN on metadata where the filter can use it; else the collection's rows as they lie, until enough passed. Where
-- few pass and no index helps that is all of them: whoever runs this sets a bound on its time.
WITH passed AS MATERIALIZED (
    SELECT chunk.id FROM collections_chunk AS chunk WHERE chunk.collection_id = %(collection_id)s AND {where} LIMIT %(most)s
)
SELECT (SELECT count(*) FROM passed), ARRAY(SELECT id FROM passed LIMIT %(shown)s)
