-- Searches of the last days (UTC), each day with its number up to a cap and, from the newest of it, the 95th percentile
-- of their time and how many found nothing, had warnings or failed; runs of test cases are left out. Plan: for each day two bounded scans of
-- search_querylog_asked, the first index-only, whatever the size of the log.
SELECT day.day::date, counted.total, sample.size, sample.p95, sample.nothing, sample.warned, sample.failed
FROM generate_series(date_trunc('day', now() AT TIME ZONE 'UTC') - make_interval(days => %(days)s - 1),
                     date_trunc('day', now() AT TIME ZONE 'UTC'), interval '1 day') AS day
CROSS JOIN LATERAL (
    SELECT count(*) AS total
    FROM (SELECT FROM search_querylog AS row
          WHERE row.asked_at >= day.day AT TIME ZONE 'UTC' AND row.asked_at < (day.day + interval '1 day') AT TIME ZONE 'UTC'
            AND NOT row.is_test
          LIMIT %(most)s) AS found
) AS counted
CROSS JOIN LATERAL (
    SELECT count(*) AS size,
           percentile_cont(0.95) WITHIN GROUP (ORDER BY took_ms) AS p95,
           count(*) FILTER (WHERE result_count = 0) AS nothing,
           count(*) FILTER (WHERE warnings <> '{}') AS warned,
           count(*) FILTER (WHERE status = 'failed') AS failed
    FROM (SELECT took_ms, result_count, warnings, status FROM search_querylog AS row
          WHERE row.asked_at >= day.day AT TIME ZONE 'UTC' AND row.asked_at < (day.day + interval '1 day') AT TIME ZONE 'UTC'
            AND NOT row.is_test
          ORDER BY row.asked_at DESC, row.id DESC
          LIMIT %(sample)s) AS newest
) AS sample
ORDER BY day.day
