-- The last two runs of each of some test cases, the newest first.
-- Plan: search_testrun_of_case, two rows for each case.
SELECT run.*
FROM unnest(%(case_ids)s::bigint[]) AS chosen (id)
CROSS JOIN LATERAL (
    SELECT *
    FROM search_testrun
    WHERE case_id = chosen.id
    ORDER BY ran_at DESC, id DESC
    LIMIT 2
) AS run
ORDER BY run.case_id, run.ran_at DESC, run.id DESC;
