-- Ids of the winners alone: eight bytes each, cut out of columns that are stored so that slices are cheap.
SELECT segment.id, winner.ordinal, substring(segment.chunk_ids FROM winner.ordinal * 8 + 1 FOR 8)
FROM unnest(%(segment_ids)s::bigint[], %(ordinals)s::integer[]) AS winner (segment_id, ordinal)
JOIN stores_segment AS segment ON segment.id = winner.segment_id
