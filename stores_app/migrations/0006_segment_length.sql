-- As long as the live chunks are, the deleted ones were on the average. Only merges ask, so that is near enough.
UPDATE stores_segment SET length = round(live_length::numeric * size / greatest(live, 1));
