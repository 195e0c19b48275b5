-- Jobs that could be worked on and are not, with the age of the oldest in seconds, and those that somebody works on.
-- Plan: the partial index job_unfinished, which has few rows whatever the history.
SELECT count(*) FILTER (WHERE lease_expires_at IS NULL OR lease_expires_at < now()),
       extract(epoch FROM now() - min(coalesce(next_try_at, created_at))
               FILTER (WHERE lease_expires_at IS NULL OR lease_expires_at < now()))::float8,
       count(*) FILTER (WHERE lease_expires_at >= now())
FROM ingest_job
WHERE finished_at IS NULL
  AND (next_try_at IS NULL OR next_try_at <= now())
