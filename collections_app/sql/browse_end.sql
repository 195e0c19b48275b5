-- Where a part of a list ends: how many rows it has, the lowest key and the highest. Plan: as the part's own statement,
-- of the index alone where nothing but the key is asked for.
SELECT count(*), min({column}), max({column})
FROM ({part}) AS part
