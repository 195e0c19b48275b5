-- How an index is searched, for this transaction, and which indexes of a generation are whole: one round trip for both.
-- A plan for any values cannot use a partial index; and starting other processes takes longer than comparing what came
-- after the index was built. Plan: pg_class by its name.
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('hnsw.ef_search', %(ef_search)s, true),
       set_config('hnsw.max_scan_tuples', %(most_evaluated)s, true),
       set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('max_parallel_workers_per_gather', '0', true),
       ARRAY(
           SELECT class.relname::text
           FROM pg_class AS class
           JOIN pg_index AS index ON index.indexrelid = class.oid
           WHERE class.relname LIKE %(pattern)s
             AND index.indrelid = 'stores_vector'::regclass
             AND index.indisvalid
       ) AS standing
