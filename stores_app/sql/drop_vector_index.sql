-- Also what a build left that was stopped. Searches that use the index are waited for.
DROP INDEX CONCURRENTLY IF EXISTS {name}
