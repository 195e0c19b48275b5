-- Who had permissions before reaches were known had them on all collections, and keeps them.
INSERT INTO access_reach (group_id, collections)
SELECT id, ARRAY['*']::varchar[] FROM auth_group ON CONFLICT DO NOTHING;
UPDATE access_user SET collections = ARRAY['*']::varchar[]
WHERE EXISTS (SELECT FROM access_user_user_permissions AS given WHERE given.user_id = access_user.id);
