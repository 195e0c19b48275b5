-- Where such a part ends: how many chunks it has, the lowest key and the highest. Plan: as browse_chunks_part.sql, of
-- the index alone where nothing but the key is asked for.
SELECT count(*), min(part.key), max(part.key)
FROM (
    SELECT {key} AS key
    FROM collections_chunk AS chunk
    WHERE {scope}
      AND {state}
      AND {from_key}
    ORDER BY {order}
    LIMIT %(looked_at)s
) AS part
