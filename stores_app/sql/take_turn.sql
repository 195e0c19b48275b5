-- Whether it is this session's turn to work on vector indexes; its turn ends with the session.
SELECT pg_try_advisory_lock(hashtextextended('ragsite: upkeep of vector indexes', 0))
