"""A cross-encoder that only says what it was asked to load."""

from __future__ import annotations

from core_app.config import Rerank
from core_app.errors import Unavailable

PAIR_SCORER = "tests.unit.rerank.wiring.Noted"


class Noted:
    """Refuses to load what is called broken."""

    def __init__(self, section: Rerank) -> None:
        self.model = section.cross_encoder_path or section.cross_encoder

    def load(self) -> None:
        if self.model == "broken":
            try:
                raise OSError("no such model\nat this place")
            except OSError as error:
                raise Unavailable("The cross-encoder could not be loaded.", code="cross_encoder_not_loaded") from error
