-- Adds a search to the query log.
INSERT INTO search_querylog (
    asked_at, asked_by, request_id, collections, text, text_form, status, error, mode, fusion, query_strategy, top_k,
    filtered, result_count, results, warnings, took_ms, stages_ms,
    is_test
)
VALUES (
    clock_timestamp(), %(asked_by)s, %(request_id)s, %(collections)s::text[], %(text)s, %(text_form)s, %(status)s,
    %(error)s, %(mode)s, %(fusion)s, %(query_strategy)s, %(top_k)s, %(filtered)s, %(result_count)s,
    %(results)s::jsonb, %(warnings)s::varchar[], %(took_ms)s, %(stages_ms)s::jsonb,
    %(is_test)s
);
