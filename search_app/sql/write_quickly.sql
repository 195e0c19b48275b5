-- For a row that nobody waits for: this transaction gives up soon, whether on a lock or on a disk, and its commit does
-- not wait for the disk.
SELECT set_config('statement_timeout', %(milliseconds)s, true),
       set_config('synchronous_commit', 'off', true);
