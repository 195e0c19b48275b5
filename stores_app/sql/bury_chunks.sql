-- New tombstones of one segment, and what is left of it.
UPDATE stores_segment
SET dead = %(dead)s, live = %(live)s, live_length = %(live_length)s
WHERE id = %(segment_id)s
