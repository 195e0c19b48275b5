-- How much the server holds. Two cheap catalogue and index reads; fails when the database does.
SELECT (SELECT count(*) FROM collections_collection), pg_database_size(current_database());
