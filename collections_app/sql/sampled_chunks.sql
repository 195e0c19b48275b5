-- Some chunks of a collection, spread over it: those at or after given places between the first key and the last,
-- each place from 0 to 1; keys of other collections lie between, so that one chunk may be met many times.
-- Plan: index (collection_id, id), compared as a row, once for each place; then the rows by their key.
SELECT chunk.id, chunk.external_id, chunk.text, chunk.metadata, chunk.collection_id
FROM collections_chunk AS chunk
WHERE chunk.id IN (
    SELECT found.id
    FROM (
        SELECT min(id) AS first, max(id) AS last FROM collections_chunk WHERE collection_id = %(collection_id)s
    ) AS span
    CROSS JOIN unnest(%(places)s::float8[]) AS place
    CROSS JOIN LATERAL (
        SELECT id
        FROM collections_chunk
        WHERE (collection_id, id) >= (%(collection_id)s, span.first + floor(place * (span.last - span.first))::bigint)
          AND (collection_id, id) < (%(collection_id)s + 1::bigint, 0)
        ORDER BY collection_id, id
        LIMIT 1
    ) AS found
)
