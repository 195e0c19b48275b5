-- Memory for the graph of one index: as much as it takes, up to what is allowed or what the server gives anyway. Not
-- more, because several processes share it: all of it is made ready first, which takes 0.4 s for 1 GB.
SELECT set_config('maintenance_work_mem', least(
    %(needed)s::bigint, greatest(pg_size_bytes(current_setting('maintenance_work_mem')), %(allowed)s::bigint)
) / 1024 || 'kB', false)
