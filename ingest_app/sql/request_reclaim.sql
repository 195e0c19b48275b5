-- One unfinished job of this kind for the whole server: a second request is told to the one that runs, which then
-- starts anew instead of ending, and needs no telling where it has not begun. Plan: index job_one_reclaim.
INSERT INTO ingest_job
    (id, kind, collection_id, state, cancel_requested, attempts, again, step, total, done, error, code, created_at)
VALUES
    (%(id)s, 'reclaim', %(collection_id)s, 'queued', false, 0, false, '', 0, 0, '', '', %(now)s)
ON CONFLICT (kind) WHERE kind = 'reclaim' AND finished_at IS NULL
DO UPDATE SET again = ingest_job.again OR ingest_job.state = 'running'
RETURNING id
