-- Deletes the oldest queries before a moment, so many at most, and returns the latest of them and how many they were.
-- Plan: search_querylog_asked_at from `after` on, which jumps over what earlier batches left behind; then the primary
-- key. Rows that another run is deleting are left to it.
WITH old AS MATERIALIZED (
    SELECT id
    FROM search_querylog
    WHERE asked_at < %(before)s AND asked_at >= %(after)s
    ORDER BY asked_at, id
    LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM search_querylog
    WHERE id = ANY (ARRAY(SELECT id FROM old))
    RETURNING asked_at
)
SELECT count(*), max(asked_at) FROM gone;
