-- All that waits for the collection's placements gives way to one row that says: everything goes.
WITH gone AS (
    DELETE FROM stores_outgoing
    WHERE placement_id IN (SELECT id FROM stores_placement WHERE collection_id = %(collection_id)s)
)
INSERT INTO stores_outgoing (placement_id, external_id)
SELECT id, NULL FROM stores_placement WHERE collection_id = %(collection_id)s
