-- Everything this transaction reads is as it was when its first statement ran, but for what it writes itself. Its
-- statements take as long as they take: they copy whole tables.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE;
SELECT set_config('statement_timeout', '0', true)
