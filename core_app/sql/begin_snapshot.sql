-- Everything this transaction reads is as it was when its first statement ran; each may run so long (QueryCanceled).
-- Both in one message: every round trip of a search counts.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
SELECT set_config('statement_timeout', %(milliseconds)s, true);
