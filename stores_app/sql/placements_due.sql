-- Placements that are searched and have something to be sent that may be tried now. Plan: few rows, the partial indexes.
SELECT placement.id
FROM stores_placement AS placement
WHERE placement.state = 'serving'
  AND (placement.next_try_at IS NULL OR placement.next_try_at <= now())
  AND EXISTS (
      SELECT FROM stores_outgoing AS waiting
      WHERE waiting.placement_id = placement.id AND (waiting.external_id IS NULL OR waiting.refused = '')
  )
