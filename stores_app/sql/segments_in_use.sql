-- Which parts of the word index are in use in some collections for a language, and what is deleted of each: what is
-- remembered of exactly these is true of what this snapshot sees. All in one value, 80 bytes each (stores_app.segments):
-- a search mostly only asks whether it knows them already. Plan: index on stores_segment.collection_id.
SELECT string_agg(
           int8send(id) || int8send(collection_id) || uuid_send(identity) || buried || int4send(size) || int4send(live)
               || int8send(live_length),
           ''::bytea ORDER BY id
       )
FROM stores_segment
WHERE collection_id = ANY(%(collection_ids)s::bigint[])
  AND language = %(language)s
  AND NOT retired
