-- How long one statement of this transaction may run (QueryCanceled); and what a search by meaning turned off is on again.
SELECT set_config('statement_timeout', %(milliseconds)s, true), set_config('enable_sort', 'on', true);
