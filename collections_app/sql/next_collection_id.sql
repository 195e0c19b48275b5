-- A key that no other collection gets.
SELECT nextval('collections_collection_id_seq')
