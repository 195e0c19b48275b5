-- One page of documents for people, and between which keys it was searched: only so many are looked at at a time, so
-- that what few documents fit, or none, takes no longer than what all fit.
-- Plan: the primary key, or the index (collection_id, id), from the key on.
WITH looked_at AS MATERIALIZED (
    SELECT document.id, document.source, document.title, document.state, document.error <> '' AS has_error
    FROM collections_document AS document
    WHERE {scope}
      AND {from_key}
    ORDER BY {order}
    LIMIT %(looked_at)s
)
SELECT
    ARRAY(
        SELECT document.id
        FROM looked_at AS document
        WHERE {state}
          AND (%(text)s = '' OR strpos(lower(document.source), lower(%(text)s)) > 0
               OR strpos(lower(document.title), lower(%(text)s)) > 0)
        ORDER BY {order}
        LIMIT %(limit)s
    ),
    (SELECT count(*) FROM looked_at),
    (SELECT min(id) FROM looked_at),
    (SELECT max(id) FROM looked_at)
