-- Vector indexes by name, and whether each is whole. Plan: pg_class by its name.
SELECT class.relname, index.indisvalid
FROM pg_class AS class
JOIN pg_index AS index ON index.indexrelid = class.oid
WHERE class.relname LIKE %(pattern)s
  AND index.indrelid = 'stores_vector'::regclass
