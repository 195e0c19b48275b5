-- How long this transaction waits for a row lock before it gives up (LockNotAvailable).
SELECT set_config('lock_timeout', %(milliseconds)s, true);
