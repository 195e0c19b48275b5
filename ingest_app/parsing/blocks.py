"""Paragraphs, headings, list items and tables as parsers find them, before it is known where they come to stand."""

from __future__ import annotations

from dataclasses import dataclass

from ingest_app.parsing.document import MAX_TITLE
from ingest_app.parsing.writing import DocumentWriter


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A table (`rows`, the first its header), heading (`level`), list item (`depth`, from 0) or else a paragraph."""

    text: str = ""
    level: int | None = None
    depth: int | None = None
    rows: list[list[str]] | None = None

    @property
    def in_one_line(self) -> str:
        """What it says within a note or the cell of a table."""
        return "; ".join(", ".join(filter(None, row)) for row in self.rows) if self.rows else self.text

    @property
    def is_heading(self) -> bool:
        """Whole paragraphs in the style of a heading are none: as one they would be cut."""
        return bool(self.level) and len(self.text) <= MAX_TITLE

    def write(self, writer: DocumentWriter) -> None:
        """Write it as what it is."""
        if self.rows:
            writer.table(self.rows)
        elif self.level and self.is_heading:
            writer.heading(self.text, level=self.level)
        elif self.depth is not None:
            writer.item(self.text, depth=self.depth)
        else:
            writer.block(self.text)
