-- Stretches of documents' texts, cut out here, so that long texts are not sent. Each text is decompressed once, however
-- many stretches of it are wanted: that is what takes long. Plan: the key of documenttext.
WITH texts AS MATERIALIZED (
    SELECT document_id, text || '' AS whole
    FROM collections_documenttext
    WHERE document_id = ANY(%(document_ids)s::bigint[])
)
SELECT wanted.place, substr(texts.whole, wanted.first + 1, wanted.last - wanted.first)
FROM unnest(%(document_ids)s::bigint[], %(starts)s::integer[], %(ends)s::integer[])
    WITH ORDINALITY AS wanted (document_id, first, last, place)
JOIN texts USING (document_id)
