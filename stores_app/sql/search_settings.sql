-- How the index is searched, for this transaction. A plan for any values cannot use a partial index; and starting
-- other processes takes longer than comparing what came after the index was built.
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('hnsw.ef_search', %(ef_search)s, true),
       set_config('hnsw.max_scan_tuples', %(most_evaluated)s, true),
       set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('max_parallel_workers_per_gather', '0', true)
