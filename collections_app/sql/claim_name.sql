-- Until the transaction ends nobody else gives this name to a collection or an alias: two tables, one space.
SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, 7241))
