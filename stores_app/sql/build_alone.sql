-- The next index is built by one process.
SELECT set_config('max_parallel_maintenance_workers', '0', false)
