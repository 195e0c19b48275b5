-- How long a statement of this transaction waits for a lock (LockNotAvailable).
SELECT set_config('lock_timeout', %(milliseconds)s, true)
