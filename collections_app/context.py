"""What goes with a passage into the index and into every answer: where in its document it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collections_app.models import Chunk

# Characters of what stands above each passage. With the default chunk size it all fits a model of 256 tokens.
MAX_TITLE_IN_CONTEXT = 120
MAX_PATH_IN_CONTEXT = 120


def contextual_text(*, title: str, section: Sequence[str], text: str) -> str:
    """What is embedded and indexed in place of the bare passage (contextual chunking, REQ-005).

    Titles and paths of unusual length are shortened, the nearest headings kept: what comes at the
    end of a text that is too long for the model is the passage itself, and the model ignores it.
    """
    lines = [f"# {_clipped(title, MAX_TITLE_IN_CONTEXT)}"]
    near = list(section)
    while len(near) > 1 and len(" > ".join(near)) > MAX_PATH_IN_CONTEXT:
        near.pop(0)
    if near:
        lines.append(f"## {_clipped(' > '.join(near), MAX_PATH_IN_CONTEXT)}")
    return "\n".join(lines) + "\n\n" + text


def indexed_text(chunk: Chunk) -> str:
    """The text that a stored chunk is embedded and indexed by: of an ingested one with what stands above it."""
    if chunk.document is None:
        return chunk.text
    return contextual_text(title=chunk.document.title, section=chunk.section_path, text=chunk.text)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def system_metadata(*, source: str, page: int | None, ordinal: int | None, section: Sequence[str]) -> dict[str, Any]:
    """The fields that every ingested chunk has in its metadata, over the user's keys of the same name (README 3)."""
    return {"source": source, "page_number": page, "chunk_index": ordinal, "section": " > ".join(section)}
