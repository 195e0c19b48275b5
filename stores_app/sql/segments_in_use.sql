-- Which parts of the word index are in use in some collections for a language, and what is deleted of each: what is
-- remembered of exactly these is true of what this snapshot sees. All in one value, 80 bytes each (stores_app.segments):
-- a search mostly only asks whether it knows them already.
-- Plan: index on stores_segment.collection_id, for one collection after the other. The statement is prepared and may be
-- planned for any values, of which the planner would rather read the whole table than look for each.
SELECT string_agg(
           int8send(segment.id) || int8send(asked.collection_id) || uuid_send(identity) || buried || int4send(size)
               || int4send(live) || int8send(live_length),
           ''::bytea ORDER BY segment.id
       )
FROM unnest(%(collection_ids)s::bigint[]) AS asked (collection_id)
CROSS JOIN LATERAL (
    SELECT id, identity, buried, size, live, live_length
    FROM stores_segment
    WHERE stores_segment.collection_id = asked.collection_id
      AND language = %(language)s
      AND NOT retired
    OFFSET 0
) AS segment
