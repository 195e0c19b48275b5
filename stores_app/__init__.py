"""Where vectors and words are searched: the built-in store in Postgres."""
