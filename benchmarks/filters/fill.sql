INSERT INTO collections_chunk (collection_id, external_id, text, metadata, section_path)
SELECT %(collection_id)s,
       'c' || n,
       'Passage ' || n || ' tells of ' || repeat(md5(n::text) || ' ', 12) || CASE WHEN n %% 1000 = 0 THEN 'walrus' ELSE '' END,
       jsonb_build_object(
           'source', 'folder/file-' || n / 40 || '.md',
           'chunk_index', n %% 40,
           'section', 'Chapter ' || n %% 200,
           'lang', (ARRAY['en', 'de', 'fr', 'es'])[1 + n %% 4],
           'year', 1990 + n %% 35,
           'day', (date '2020-01-01' + (n %% 1500)::int)::text,
           'tags', jsonb_build_array('t' || n %% 50, 't' || n %% 7),
           'number', n
       ) || CASE WHEN n %% 10 = 0 THEN '{"reviewed": true}'::jsonb ELSE '{}'::jsonb END,
       ARRAY[]::text[]
FROM generate_series(1, %(rows)s) AS n
