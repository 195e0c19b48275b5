"""Reranking as an operator starts it."""
