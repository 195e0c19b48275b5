-- One chunk; what has its id is replaced and keeps its place.
INSERT INTO chunks (collection, id, text, metadata)
VALUES (:collection, :id, :text, :metadata)
ON CONFLICT (collection, id) DO UPDATE SET text = excluded.text, metadata = excluded.metadata
RETURNING key
