-- An item for every document whose passages were cut by another setting than the collection's present one.
-- Without those that failed in this job or still wait in it. Reads the collection's documents once, by their
-- index on (collection, source), and the job's items by (job, state, ordinal).
INSERT INTO ingest_item
    (job_id, ordinal, source, title, metadata, size_bytes, origin, depth, state, attempts, chunks, error, code)
SELECT
    %(job_id)s,
    (SELECT coalesce(max(ordinal) + 1, 0) FROM ingest_item WHERE job_id = %(job_id)s)
        + row_number() OVER (ORDER BY document.source) - 1,
    document.source, '', '{}', document.size_bytes, document.origin, 0, 'queued', 0, 0, '', ''
FROM collections_document AS document
WHERE document.collection_id = %(collection_id)s
    AND document.state = 'ready'
    AND document.cut_by <> %(signature)s
    AND NOT EXISTS (
        SELECT FROM ingest_item AS item
        WHERE item.job_id = %(job_id)s
            AND item.source = document.source
            AND item.state IN ('failed', 'queued', 'running')
    )
