"""The walk over all operations puts texts in order and answers questions, too."""

from __future__ import annotations

from tests.integration.answers.conftest import model
from tests.integration.rerank.conftest import cross_encoder, cross_encoder_folder

__all__ = ["cross_encoder", "cross_encoder_folder", "model"]
