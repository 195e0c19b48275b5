-- The state before the latest guard, its bound on statements included.
ROLLBACK TO SAVEPOINT guarded;
