"""Retrieval quality on a judged set in BEIR's layout, through the same service that answers requests."""
