"""Writing a collection out as lines of JSON, for another server or for later; read again by `ingest_app.importing`.

First the collection, then its documents, then its chunks in their order, last a line by which a file that was cut off
is told from a whole one. All of it is read from one snapshot, a batch at a time, so memory does not grow with it.
"""

from __future__ import annotations

import base64
from collections.abc import Generator, Iterator
from typing import Any

import msgspec
import numpy as np
from django.db import transaction
from django.db.models import Model, QuerySet

from access_app.audit import record
from collections_app.models import Chunk, Collection, Document, DocumentText, NamedFilter
from collections_app.reading import vectors_of
from collections_app.selectors import get_held
from core_app.snapshot import snapshot

#: Of the lines; what reads them refuses one that it does not know.
FORMAT = 1
#: Rows read at a time. A text can be megabytes long.
DOCUMENTS_AT_A_TIME = 20
CHUNKS_AT_A_TIME = 500
#: Little-endian, in base64.
NUMBER = "<f4"
SETTINGS = ("metadata", "distance", "language", "chunking", "search", "k1", "b")
#: Where a document came from stays behind, as in a clone: that is kept in step with the original.
DOCUMENT_FIELDS = (
    "source",
    "title",
    "content_hash",
    "media_type",
    "size_bytes",
    "state",
    "metadata",
    "cut_by",
    "submitted_at",
    "error",
    "error_code",
)
TEXT_FIELDS = ("text", "outline", "source_digest", "given_title")
CHUNK_FIELDS = (
    "text",
    "metadata",
    "section_path",
    "page",
    "start_offset",
    "end_offset",
    "parent_start",
    "parent_end",
    "ordinal",
    "disabled_at",
    "edited_at",
    "original_text",
)


def export_collection(*, name: str, vectors: bool = True) -> Generator[bytes, None, None]:
    """The lines, some at a time. Raises NotFound at once, and not when the first line is asked for.

    Until the end, or until it is closed, it holds the thread's connection in a transaction that only reads.
    """
    collection = get_held(name=name)
    with transaction.atomic():
        record("collection.exported", collection, after={"vectors": vectors})
    return _lines(collection.name, vectors)


def _lines(name: str, vectors: bool) -> Generator[bytes, None, None]:
    encode = msgspec.json.Encoder().encode
    documents = chunks = 0
    with snapshot():
        collection = get_held(name=name)
        yield encode(_header(collection, vectors)) + b"\n"
        for some in _documents(collection):
            documents += len(some)
            yield b"".join(encode(line) + b"\n" for line in some)
        for some in _chunks(collection, vectors):
            chunks += len(some)
            yield b"".join(encode(line) + b"\n" for line in some)
        yield encode({"kind": "end", "documents": documents, "chunks": chunks}) + b"\n"


def _header(collection: Collection, vectors: bool) -> dict[str, Any]:
    generation = collection.active_generation
    filters = NamedFilter.objects.filter(collection=collection).values("name", "where", "description")
    return {
        "kind": "collection",
        "format": FORMAT,
        "name": collection.name,
        **_fields(collection, SETTINGS),
        "filters": list(filters),
        "embedding": generation
        and {
            "connection": generation.embedding_connection,
            "model": generation.embedding_model,
            "dimension": generation.dimension,
        },
        "vectors": vectors and generation is not None,
    }


def _documents(collection: Collection) -> Iterator[list[dict[str, Any]]]:
    found = Document.objects.filter(collection=collection).select_related("extracted")
    for rows in _batches(found, "pk", DOCUMENTS_AT_A_TIME):
        yield [{"kind": "document", **_fields(row, DOCUMENT_FIELDS), "extracted": _extracted(row)} for row in rows]


def _extracted(row: Document) -> dict[str, Any] | None:
    kept: DocumentText | None = getattr(row, "extracted", None)
    return None if kept is None else _fields(kept, TEXT_FIELDS)


def _chunks(collection: Collection, vectors: bool) -> Iterator[list[dict[str, Any]]]:
    found = Chunk.objects.filter(collection=collection).select_related("document").defer("document__metadata")
    for rows in _batches(found, "position", CHUNKS_AT_A_TIME):
        numbers = vectors_of(collection=collection, chunk_ids=[row.pk for row in rows]) if vectors else {}
        yield [
            {
                "kind": "chunk",
                "id": row.external_id,
                "source": row.document and row.document.source,
                **_fields(row, CHUNK_FIELDS),
                "vector": _packed(numbers[row.pk]) if row.pk in numbers else None,
            }
            for row in rows
        ]


def _batches(rows: QuerySet[Any], key: str, size: int) -> Iterator[list[Any]]:
    """Keyset pages: as fast at the end as at the beginning."""
    after = 0
    while found := list(rows.filter(**{f"{key}__gt": after}).order_by(key)[:size]):
        yield found
        after = getattr(found[-1], key)


def _fields(row: Model, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _packed(vector: Any) -> str:
    return base64.b64encode(np.asarray(vector, NUMBER).tobytes()).decode("ascii")
