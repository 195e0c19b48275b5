-- How long one statement of this transaction may run (QueryCanceled).
SELECT set_config('statement_timeout', %(milliseconds)s, true);
