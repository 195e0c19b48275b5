-- How an index is searched, for this transaction, and which indexes of a generation are whole: one round trip for both.
-- A plan for any values cannot use a partial index; and starting other processes takes longer than comparing what came
-- after the index was built. Without sorting there is no way but the index: the planner takes a generation's chunks to
-- be spread over all, expects few of a small one beside large ones, and would compare them all. The next guard takes
-- that back. Prepared. Plan: a range of pg_class' names.
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('hnsw.ef_search', %(ef_search)s, true),
       set_config('hnsw.max_scan_tuples', %(most_evaluated)s, true),
       set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('max_parallel_workers_per_gather', '0', true),
       set_config('enable_sort', 'off', true),
       ARRAY(
           SELECT class.relname::text
           FROM pg_class AS class
           JOIN pg_index AS index ON index.indexrelid = class.oid
           WHERE class.relname >= %(names)s::name
             AND class.relname < %(names_end)s::name
             AND index.indrelid = 'stores_vector'::regclass
             AND index.indisvalid
       ) AS standing
