-- Rows of chunks that were deleted or replaced and still take space, and those that live, as Postgres estimates them.
SELECT n_dead_tup, n_live_tup FROM pg_stat_user_tables WHERE relid = 'collections_chunk'::regclass
