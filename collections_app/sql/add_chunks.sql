-- Loads chunks that come with their own embeddings: keys and positions are given, sections and pages unknown.
COPY collections_chunk (id, position, collection_id, external_id, text, metadata, section_path)
FROM STDIN (FORMAT binary)
