"""What a way of cutting would make of a text, before anything is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from collections_app.embedding import embedder_of
from collections_app.models import Document
from collections_app.selectors import get_collection
from core_app.errors import Conflict, InvalidInput, NotFound
from ingest_app.chunking import TextChunk
from ingest_app.chunking_settings import Chunking
from ingest_app.extracted import parsed_of
from ingest_app.indexing import parser
from ingest_app.parsing import ParsedDocument, UnableToParse
from ingest_app.rechunking import chunking_of


@dataclass(frozen=True, kw_only=True)
class PreviewedParent:
    """A stretch of the text, from character `start` up to `end`, that passages `first` to `last` share."""

    start: int
    end: int
    tokens: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The passages a text would have, their lengths in tokens in the same order, and their parents, if any."""

    chunking: Chunking
    chunks: Sequence[TextChunk]
    tokens: Sequence[int]
    parents: Sequence[PreviewedParent]


def preview_text(*, name: str, own: Mapping[str, Any] | None, text: str, text_name: str = "text.md") -> Preview:
    """Cut a text as collection `name` would, or would with `own` as its setting; read by its name's extension.

    Raises NotFound, and InvalidInput for a setting or a text that cannot be.
    """
    collection = get_collection(name=name)
    chunking = chunking_of(collection, own)
    try:
        document = parser().parse(name=text_name, content=text.encode("utf-8", "ignore"))
    except UnableToParse as error:
        raise InvalidInput(error.detail, code=error.code) from None
    return _preview(chunking, document, embedder_of(collection).count_tokens)


def preview_source(*, name: str, own: Mapping[str, Any] | None, source: str) -> Preview:
    """The same for a document that is stored. Raises NotFound, and Conflict where its text was not kept."""
    collection = get_collection(name=name)
    chunking = chunking_of(collection, own)
    stored = Document.objects.select_related("extracted").filter(collection=collection, source=source).first()
    if stored is None:
        raise NotFound(f"Source '{source}' not found in collection '{name}'", code="source_not_found")
    extracted = getattr(stored, "extracted", None)
    if extracted is None:
        raise Conflict(
            "The text of this document was not kept. Send the file again, then preview it.", code="text_not_kept"
        )
    return _preview(chunking, parsed_of(extracted), embedder_of(collection).count_tokens)


def _preview(chunking: Chunking, document: ParsedDocument, count_tokens: Callable[[str], int]) -> Preview:
    chunks = chunking.cut(document, count_tokens=count_tokens)
    return Preview(
        chunking=chunking,
        chunks=chunks,
        tokens=[count_tokens(part.text) for part in chunks],
        parents=list(_parents(document.text, chunks, count_tokens)),
    )


def _parents(text: str, chunks: Sequence[TextChunk], count_tokens: Callable[[str], int]) -> Iterator[PreviewedParent]:
    for span, group in groupby(chunks, key=lambda part: part.parent):
        if span is None:
            continue
        sharing = [part.ordinal for part in group]
        yield PreviewedParent(
            start=span[0],
            end=span[1],
            tokens=count_tokens(text[slice(*span)]),
            first=sharing[0],
            last=sharing[-1],
        )
