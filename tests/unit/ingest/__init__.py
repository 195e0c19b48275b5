"""Ingestion without a database: parsers and the chunker."""
