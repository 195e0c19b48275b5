-- A collection by its name, else by an alias, with the generation that is searched.
-- Plan: the unique indexes on the names, then primary keys.
SELECT collection.*,
       generation.id AS generation_id,
       generation.collection_id AS generation_collection_id,
       generation.embedding_connection AS generation_embedding_connection,
       generation.embedding_model AS generation_embedding_model,
       generation.dimension AS generation_dimension,
       generation.distance AS generation_distance,
       generation.state AS generation_state,
       generation.created_at AS generation_created_at
FROM collections_collection AS collection
LEFT JOIN collections_generation AS generation ON generation.id = collection.active_generation_id
WHERE collection.id = coalesce(
    (SELECT id FROM collections_collection WHERE name = %(name)s),
    (SELECT collection_id FROM collections_alias WHERE name = %(name)s)
)
