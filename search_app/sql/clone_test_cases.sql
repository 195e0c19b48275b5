-- Copies the test cases of a collection with what was judged; passages are known by the ids that their copies keep.
-- Plan: the unique indexes (collection, name) of both and (case, external_id) of the judgements.
WITH copied AS (
    INSERT INTO search_testcase (
        collection_id, name, query, topic, "where", settings, expected, saved_by, created_at, updated_at
    )
    SELECT %(target)s, name, query, topic, "where", settings, expected, saved_by, created_at, updated_at
    FROM search_testcase
    WHERE collection_id = %(source)s
    RETURNING id, name
)
INSERT INTO search_judgement (case_id, external_id, source, excerpt, grade)
SELECT copied.id, judged.external_id, judged.source, judged.excerpt, judged.grade
FROM copied
JOIN search_testcase AS original ON original.collection_id = %(source)s AND original.name = copied.name
JOIN search_judgement AS judged ON judged.case_id = original.id
