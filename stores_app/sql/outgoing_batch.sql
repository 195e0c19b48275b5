-- What to send next: that everything goes, or the oldest of what waits. In one statement: whoever sees a chunk that came
-- after an emptying sees the emptying too. Plan: the two partial indexes.
(
    SELECT id, external_id FROM stores_outgoing
    WHERE placement_id = %(placement_id)s AND external_id IS NULL
    ORDER BY id
)
UNION ALL
(
    SELECT id, external_id FROM stores_outgoing
    WHERE placement_id = %(placement_id)s AND external_id IS NOT NULL AND refused = ''
    ORDER BY id
    LIMIT %(limit)s
)
