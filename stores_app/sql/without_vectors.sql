-- Of each collection asked for, how many of its chunks have no vector in the generation beside it. All vectors of a
-- generation are of its collection's chunks, and disabled chunks have none on purpose, so three counts say it. Plan:
-- index-only scans of both tables a collection, and of the index of what is disabled.
SELECT asked.collection_id,
       (SELECT count(*) FROM collections_chunk AS chunk WHERE chunk.collection_id = asked.collection_id)
       - (SELECT count(*) FROM collections_chunk AS chunk
          WHERE chunk.collection_id = asked.collection_id AND chunk.disabled_at IS NOT NULL)
       - (SELECT count(*) FROM stores_vector AS vector WHERE vector.generation_id = asked.generation_id)
FROM unnest(%(collections)s::bigint[], %(generations)s::bigint[]) AS asked (collection_id, generation_id)
