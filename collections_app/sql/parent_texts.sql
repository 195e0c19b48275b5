-- Stretches of documents' texts, cut out here, so that long texts are not sent. Plan: the key of documenttext.
SELECT wanted.place, substr(extracted.text, wanted.first + 1, wanted.last - wanted.first)
FROM unnest(%(document_ids)s::bigint[], %(starts)s::integer[], %(ends)s::integer[])
    WITH ORDINALITY AS wanted (document_id, first, last, place)
JOIN collections_documenttext AS extracted ON extracted.document_id = wanted.document_id
