"""How much of the embedder's own rate is left when whole files are ingested."""
