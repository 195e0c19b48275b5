"""How a collection's texts are cut: its own setting over the server's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from core_app.errors import InvalidInput
from ingest_app.chunking import TextChunk, chunk, whole, windows
from ingest_app.chunking.parents import with_parents
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
    """A way to cut texts. Sizes are in tokens of the embedding model, without title and section.

    With a `parent_size` passages are found, and the run of neighbours around each is shown; None: the passage itself.
    """

    strategy: Strategy
    size: int
    overlap: int
    parent_size: int | None = None

    @classmethod
    def of(cls, own: Mapping[str, Any], *, size: int, overlap: int) -> Chunking:
        """A collection's own setting over the server's `size` and `overlap`.

        Raises InvalidInput naming the field that cannot be.
        """
        unknown = sorted(set(own) - {"strategy", "size", "overlap", "parent_size"})
        if unknown:
            raise InvalidInput(
                f"chunking.{unknown[0]}: unknown. Send strategy, size, overlap, parent_size.", code="invalid_chunking"
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
        return cls(
            strategy=strategy, size=own_size, overlap=own_overlap, parent_size=_parent_size(own, strategy, own_size)
        )

    @property
    def signature(self) -> str:
        """The same for what cuts alike."""
        if self.strategy == Strategy.WHOLE:
            return self.strategy
        sizes = (self.size, self.overlap) if self.parent_size is None else (self.size, self.overlap, self.parent_size)
        return " ".join((self.strategy, *map(str, sizes)))

    def as_json(self) -> dict[str, Any]:
        """As the API shows it."""
        return asdict(self)

    def cut(
        self, document: ParsedDocument, *, count_tokens: Callable[[str], int], check: Callable[[], None] = lambda: None
    ) -> list[TextChunk]:
        """The document's passages. `check` is called now and then and may raise."""
        found = self._passages(document, count_tokens, check)
        if self.parent_size is None:
            return found
        return with_parents(
            document,
            found,
            size=self.parent_size,
            across_sections=self.strategy == Strategy.FIXED,
            count_tokens=count_tokens,
            check=check,
        )

    def _passages(
        self, document: ParsedDocument, count_tokens: Callable[[str], int], check: Callable[[], None]
    ) -> list[TextChunk]:
        match self.strategy:
            case Strategy.WHOLE:
                return whole(document)
            case Strategy.FIXED:
                return windows(document, size=self.size, overlap=self.overlap, count_tokens=count_tokens, check=check)
        return chunk(document, size=self.size, overlap=self.overlap, count_tokens=count_tokens, check=check)


def _parent_size(own: Mapping[str, Any], strategy: Strategy, size: int) -> int | None:
    """Null and 0 both say: no parents."""
    given = 0 if own.get("parent_size") is None else _whole_number(own, "parent_size", 0)
    if given == 0:
        return None
    if strategy == Strategy.WHOLE:
        raise InvalidInput(
            "chunking.parent_size: documents that are not cut have no parents. Leave it out, or use another strategy.",
            code="invalid_chunking",
        )
    if not size <= given <= LARGEST:
        raise InvalidInput(
            f"chunking.parent_size: must be size ({size}) to {LARGEST} tokens, or 0 for none.", code="invalid_chunking"
        )
    return given


def _whole_number(own: Mapping[str, Any], key: str, default: int) -> int:
    value = own.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"chunking.{key}: must be a whole number of tokens.", code="invalid_chunking")
    return value
