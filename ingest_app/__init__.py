"""How text gets in: parsing, chunking and the jobs that index it."""
