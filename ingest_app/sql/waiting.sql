-- How many files wait to be indexed or imported, and how many bytes of them the database holds. Unfinished jobs are few
-- and have an index of their own (job_unfinished); their items come by (job, state, ordinal).
SELECT count(*), coalesce(sum(waits.size_bytes), 0)::bigint
FROM (
    SELECT item.size_bytes
    FROM ingest_job AS job
    JOIN ingest_item AS item ON item.job_id = job.id AND item.state IN ('queued', 'running')
    WHERE job.finished_at IS NULL AND job.kind = 'ingest'
    UNION ALL
    SELECT (options ->> 'bytes')::bigint FROM ingest_job WHERE finished_at IS NULL AND kind = 'import'
) AS waits
