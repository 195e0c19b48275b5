-- Of the searches that were answered before, those that were answered with less. Plan: index search_querylog_warned.
UPDATE search_querylog
SET status = 'degraded'
WHERE NOT warnings = '{}'
  AND NOT warnings <@ ARRAY['no_embedder', 'no_reranker', 'expansion_cut']::varchar[]
