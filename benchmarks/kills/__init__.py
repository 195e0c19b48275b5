"""The kill matrix: kill -9 of each process at each stage of an ingestion, and what is lost or doubled by it."""
