-- What follows may fail without the rest of the transaction, and each of its statements may run so long. One message.
-- Savepoints of one name stand on each other; all end with the transaction. A search by meaning has sorting turned off.
SAVEPOINT guarded;
SELECT set_config('statement_timeout', %(milliseconds)s, true), set_config('enable_sort', 'on', true);
