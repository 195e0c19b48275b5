-- The same of some chunks of a collection only: how many they are, how many of them pass, the first that do.
WITH looked_at AS MATERIALIZED (
    {rows}
), passed AS MATERIALIZED (
    SELECT chunk.id FROM looked_at AS chunk WHERE {where}
)
SELECT (SELECT count(*) FROM looked_at), (SELECT count(*) FROM passed), ARRAY(SELECT id FROM passed LIMIT %(shown)s)
