"""How a collection's texts are cut: its own setting over the server's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from core_app.errors import InvalidInput
from ingest_app.chunking import TextChunk, chunk, whole, windows
from ingest_app.parsing.document import ParsedDocument

#: Bounds of `size`, in tokens of the embedding model.
SMALLEST, LARGEST = 16, 8192


class Strategy(StrEnum):
    """By what a text is cut."""

    #: Sections, blocks, sentences; tables between rows.
    STRUCTURE = "structure"
    #: Windows of equal size, whatever stands in them.
    FIXED = "fixed"
    #: Not at all: one chunk a document.
    WHOLE = "whole"


@dataclass(frozen=True, kw_only=True)
class Chunking:
    """A way to cut texts. Sizes are in tokens of the embedding model, without title and section."""

    strategy: Strategy
    size: int
    overlap: int

    @classmethod
    def of(cls, own: Mapping[str, Any], *, size: int, overlap: int) -> Chunking:
        """A collection's own setting over the server's `size` and `overlap`.

        Raises InvalidInput naming the field that cannot be.
        """
        unknown = sorted(set(own) - {"strategy", "size", "overlap"})
        if unknown:
            raise InvalidInput(
                f"chunking.{unknown[0]}: unknown. Send strategy, size, overlap.", code="invalid_chunking"
            )
        own_size = _whole_number(own, "size", size)
        if not SMALLEST <= own_size <= LARGEST:
            raise InvalidInput(f"chunking.size: must be {SMALLEST} to {LARGEST} tokens.", code="invalid_chunking")
        own_overlap = _whole_number(own, "overlap", min(overlap, own_size // 2))
        if not 0 <= own_overlap <= own_size // 2:
            raise InvalidInput("chunking.overlap: must be 0 to half of size.", code="invalid_chunking")
        try:
            strategy = Strategy(own.get("strategy", Strategy.STRUCTURE))
        except ValueError:
            names = ", ".join(Strategy)
            raise InvalidInput(f"chunking.strategy: must be one of {names}.", code="invalid_chunking") from None
        return cls(strategy=strategy, size=own_size, overlap=own_overlap)

    @property
    def signature(self) -> str:
        """The same for what cuts alike."""
        return self.strategy if self.strategy == Strategy.WHOLE else f"{self.strategy} {self.size} {self.overlap}"

    def as_json(self) -> dict[str, Any]:
        """As the API shows it."""
        return asdict(self)

    def cut(
        self, document: ParsedDocument, *, count_tokens: Callable[[str], int], check: Callable[[], None] = lambda: None
    ) -> list[TextChunk]:
        """The document's passages. `check` is called now and then and may raise."""
        match self.strategy:
            case Strategy.WHOLE:
                return whole(document)
            case Strategy.FIXED:
                return windows(document, size=self.size, overlap=self.overlap, count_tokens=count_tokens, check=check)
        return chunk(document, size=self.size, overlap=self.overlap, count_tokens=count_tokens, check=check)


def _whole_number(own: Mapping[str, Any], key: str, default: int) -> int:
    value = own.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"chunking.{key}: must be a whole number of tokens.", code="invalid_chunking")
    return value
