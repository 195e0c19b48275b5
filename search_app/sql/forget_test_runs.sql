-- Deletes the runs of one test case but for the last so many. Plan: search_testrun_of_case.
DELETE FROM search_testrun
WHERE case_id = %(case_id)s
  AND id NOT IN (
      SELECT id FROM search_testrun WHERE case_id = %(case_id)s ORDER BY ran_at DESC, id DESC LIMIT %(most)s
  );
