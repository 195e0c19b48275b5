-- How long a document's text is, in characters. Plan: the key of documenttext.
SELECT char_length(text) FROM collections_documenttext WHERE document_id = %(document_id)s
