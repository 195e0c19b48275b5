"""One suite that every provider passes, each on the real thing."""
