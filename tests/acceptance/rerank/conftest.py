"""A running server with a cross-encoder."""

from __future__ import annotations

from tests.integration.rerank.conftest import cross_encoder, cross_encoder_folder

__all__ = ["cross_encoder", "cross_encoder_folder"]
