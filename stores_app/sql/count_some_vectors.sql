-- How many vectors a generation has, or that it has many. Plan: primary key.
SELECT count(*) FROM (SELECT FROM stores_vector WHERE generation_id = {generation} LIMIT %(many)s) AS counted
