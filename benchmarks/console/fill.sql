-- Collections of documents and chunks made up in the database: of ten chunks a document has, one in a hundred thousand
-- is rare, one in ten common, one in fifty thousand disabled, one in a thousand edited.
INSERT INTO collections_collection
    (uid, name, metadata, store, distance, language, chunking, search, created_at, updated_at, version)
SELECT gen_random_uuid(), 'part-' || n, '{}', 'pgvector', 'cosine', 'english', '{}', '{}', now(), now(), 1
FROM generate_series(1, 2) AS n;

INSERT INTO collections_document
    (collection_id, source, title, content_hash, media_type, size_bytes, state, metadata, chunk_count, cut_by, origin,
     error, error_code, created_at, updated_at)
SELECT
    -- Of twenty documents one is in the second collection.
    (SELECT id FROM collections_collection WHERE name = CASE WHEN mod(n, 20) = 0 THEN 'part-2' ELSE 'part-1' END),
    'folder/' || n || '.md', 'Document ' || n, md5(n::text), 'text/markdown', 1000,
    CASE WHEN mod(n, 10000) = 0 THEN 'failed' ELSE 'ready' END, '{}', 10, '', '', '', '', now(), now()
FROM generate_series(1, %(documents)s) AS n;

INSERT INTO collections_chunk
    (collection_id, document_id, external_id, text, metadata, section_path, ordinal, page, start_offset, end_offset,
     disabled_at, edited_at)
SELECT
    document.collection_id, document.id, document.id || ':' || n,
    'Passage ' || n || ' of document ' || document.id || '. ' || repeat(md5(document.id::text || n) || ' ', 20),
    jsonb_build_object(
        'source', document.source, 'page_number', 1, 'chunk_index', n, 'section', 'Part',
        'rare', mod(document.id * 10 + n, 100000), 'kind', CASE WHEN mod(document.id + n, 10) = 0 THEN 'common' ELSE 'other' END
    ),
    '{Part}', n, 1, n * 600, n * 600 + 600,
    CASE WHEN mod(document.id * 10 + n, 50000) = 0 THEN now() END,
    CASE WHEN mod(document.id * 10 + n, 1000) = 0 THEN now() END
FROM collections_document AS document
CROSS JOIN generate_series(0, 9) AS n;
