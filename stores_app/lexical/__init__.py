"""Words: text to terms, packed postings, BM25. Pure: neither Django nor a database is imported here."""
