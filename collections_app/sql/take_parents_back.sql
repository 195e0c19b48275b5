-- Takes the parents of these chunks from the others that share them: these are about to go.
-- Plan: chunks by key, those of their documents by (document_id, ordinal).
WITH gone AS (
    SELECT DISTINCT document_id, parent_start, parent_end
    FROM collections_chunk
    WHERE id = ANY(%(chunk_ids)s::bigint[])
      AND document_id IS NOT NULL
      AND parent_start IS NOT NULL
)
UPDATE collections_chunk AS chunk
SET parent_start = NULL, parent_end = NULL
FROM gone
WHERE chunk.document_id = gone.document_id
  AND chunk.parent_start = gone.parent_start
  AND chunk.parent_end = gone.parent_end
  AND chunk.id <> ALL(%(chunk_ids)s::bigint[])
