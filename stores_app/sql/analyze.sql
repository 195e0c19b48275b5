-- After a load the planner knows nothing of the new rows; of the vectors themselves it learns nothing.
ANALYZE stores_vector (generation_id, chunk_id), collections_chunk
