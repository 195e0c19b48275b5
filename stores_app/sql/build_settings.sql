-- Memory for the graph of one index: as much as it takes, where that is allowed, and never less than the server gives.
SELECT set_config('maintenance_work_mem', greatest(
    pg_size_bytes(current_setting('maintenance_work_mem')), least(%(needed)s::bigint, %(allowed)s::bigint)
) / 1024 || 'kB', false)
