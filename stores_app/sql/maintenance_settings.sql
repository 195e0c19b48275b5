-- Building an index takes what it takes.
SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)
