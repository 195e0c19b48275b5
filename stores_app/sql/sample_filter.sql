-- Of some chunks of a collection: how many there are and how many of them a filter lets through, up to a
-- watermark and above it. The chunks are those at or after given places between the first key and the last,
-- each place from 0 to 1; keys of other collections lie between, so that one chunk may be met many times.
-- Plan: index (collection_id, id), compared as a row: the primary key would lead through other collections.
WITH span AS MATERIALIZED (
    SELECT min(id) AS first, max(id) AS last FROM collections_chunk WHERE collection_id = %(collection_id)s
), sampled AS MATERIALIZED (
    SELECT DISTINCT found.id
    FROM span
    CROSS JOIN unnest(%(places)s::float8[]) AS place
    CROSS JOIN LATERAL (
        SELECT id
        FROM collections_chunk
        WHERE (collection_id, id) >= (%(collection_id)s, span.first + floor(place * (span.last - span.first))::bigint)
        ORDER BY collection_id, id
        LIMIT 1
    ) AS found
)
SELECT count(*) FILTER (WHERE chunk.id <= {watermark}),
       count(*) FILTER (WHERE chunk.id <= {watermark} AND {where}),
       count(*) FILTER (WHERE chunk.id > {watermark}),
       count(*) FILTER (WHERE chunk.id > {watermark} AND {where})
FROM sampled
JOIN collections_chunk AS chunk ON chunk.id = sampled.id
