-- A collection by its name, else by an alias, with the generation that is searched.
-- Prepared. Plan: the unique indexes on the names, then primary keys.
SELECT {columns}
FROM collections_collection AS collection
LEFT JOIN collections_generation AS generation ON generation.id = collection.active_generation_id
WHERE collection.id = coalesce(
    (SELECT id FROM collections_collection WHERE name = %(name)s),
    (SELECT collection_id FROM collections_alias WHERE name = %(name)s)
)
