-- The tables of one SQLite file. `key` never comes back, so it is the order of adding. Vectors stand apart: listing
-- and filtering read past them otherwise.
CREATE TABLE IF NOT EXISTS collections (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    metadata TEXT NOT NULL,
    distance TEXT NOT NULL,
    dimension INTEGER,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS chunks (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL REFERENCES collections (key) ON DELETE CASCADE,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (collection, id)
) STRICT;

CREATE INDEX IF NOT EXISTS chunks_in_order ON chunks (collection, key);

CREATE TABLE IF NOT EXISTS vectors (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (key) ON DELETE CASCADE,
    embedding BLOB NOT NULL
) STRICT;
