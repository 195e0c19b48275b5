"""From bytes to searchable chunks: read and cut each item, embed many together, write each at once."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Greatest

from collections_app.context import contextual_text, system_metadata
from collections_app.models import Chunk, Collection, Document
from collections_app.services import CollectionGone, lock_collection, touch, writable_space
from core_app.ports import Embedder, IndexedChunk, Vectors
from core_app.wiring import app_settings, embedder, store
from ingest_app.chunking import TextChunk, chunk
from ingest_app.leases import Lease, hold
from ingest_app.models import Item, Job, Payload
from ingest_app.parsing import ParsedDocument
from ingest_app.parsing.sandbox import ParserProcess
from ingest_app.submitting import clean_text

logger = logging.getLogger(__name__)

#: Part of every content hash: raise it when parsing or chunking changes, so that unchanged files are redone.
PIPELINE_VERSION = 2


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A document that was read and cut: its chunks and their contextual texts, in one order."""

    item: Item
    document: ParsedDocument
    title: str
    chunks: Sequence[TextChunk]
    contexts: Sequence[str]
    content_hash: str


@dataclass(frozen=True, kw_only=True)
class Chunking:
    """How a collection's texts are cut."""

    strategy: str
    size: int
    overlap: int

    @classmethod
    def of(cls, collection: Collection) -> Chunking:
        """The collection's own setting over the server's."""
        defaults = app_settings().ingestion
        size = int(collection.chunking.get("size", defaults.chunk_tokens))
        return cls(
            strategy=str(collection.chunking.get("strategy", "structure")),
            size=size,
            overlap=int(collection.chunking.get("overlap", min(defaults.chunk_overlap_tokens, size // 2))),
        )


@cache
def parser() -> ParserProcess:
    """This process's one parser child."""
    section = app_settings().ingestion
    return ParserProcess(timeout_seconds=section.parse_timeout_seconds, memory_bytes=section.parse_memory_bytes)


def draft_item(*, lease: Lease, item: Item, check: Callable[[], None]) -> Draft | None:
    """Read and cut one item of a job that is held under `lease`; None when it is indexed already.

    `check` is called now and then and may raise. Raises UnableToParse for a file that gives no text.
    Changes nothing that a search could see.
    """
    collection = Collection.objects.filter(pk=lease.collection_id).first()
    if collection is None:
        raise CollectionGone
    payload = Payload.objects.get(item=item)
    content = bytes(payload.content)
    chunking = Chunking.of(collection)
    source = embedder()
    parser_name = _parser_name(item, is_text=payload.is_text)
    content_hash = _content_hash(item, content, chunking, source, parser_name)
    if _is_unchanged(collection, item, content_hash) and _skip_unchanged(lease, item, content_hash):
        return None
    document = parser().parse(name=parser_name, content=content, check=check)
    return _draft(item, document, chunking, source, content_hash, check)


def embed_drafts(*, drafts: Sequence[Draft], check: Callable[[], None]) -> list[Vectors]:
    """Vectors of each draft's chunks, each of shape (chunks, dimension).

    Chunks of all drafts share batches, similar lengths together: a model that is asked for one short
    text at a time takes several times as long. `check` is called before each batch and may raise.
    """
    source = embedder()
    texts = [context for draft in drafts for context in draft.contexts]
    vectors = np.empty((len(texts), source.dimension), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    size = app_settings().embedding.batch_size
    for start in range(0, len(order), size):
        check()
        batch = order[start : start + size]
        vectors[batch] = source.embed_documents([texts[index] for index in batch])
    ends = list(accumulate(len(draft.contexts) for draft in drafts))
    return np.split(vectors, ends[:-1]) if drafts else []


def write_draft(*, lease: Lease, draft: Draft, vectors: Vectors) -> None:
    """Put one document in place of its older self: chunks, vectors, words and outcome in one transaction.

    A version that was sent before the stored one is left out. Raises Conflict when the collection's
    vectors are of another model, LeaseLostError when the job is no longer ours.
    """
    source = embedder()
    item = draft.item
    with transaction.atomic():
        collection = lock_collection(collection_id=lease.collection_id)
        job = hold(lease=lease)
        if _is_superseded(collection, item, job):
            _skip(item, reason="A version that was sent later is indexed already.", code="superseded")
            _drop_payloads(item, job)
            return
        space = writable_space(
            collection=collection,
            embedding_connection=source.connection,
            embedding_model=source.model,
            dimension=vectors.shape[1],
        )
        document = _replace_document(collection, draft, job)
        rows = Chunk.objects.bulk_create(_rows(collection, document, draft), batch_size=500)
        store(collection.store).add(
            space=space,
            language=collection.language,
            chunks=[
                IndexedChunk(chunk_id=row.pk, text=context, embedding=vector)
                for row, context, vector in zip(rows, draft.contexts, vectors, strict=True)
            ],
        )
        item.state = Item.State.SUCCEEDED
        item.chunks = len(rows)
        item.error = item.code = ""
        item.save(update_fields=["state", "chunks", "error", "code"])
        _drop_payloads(item, job)
        touch(collection=collection)


def _parser_name(item: Item, *, is_text: bool) -> str:
    """Texts without a known extension are read as Markdown, which plain text is."""
    known = (".md", ".markdown", ".txt", ".html", ".htm")
    if is_text and not item.source.lower().endswith(known):
        return f"{item.source}.md"
    return item.source


def _content_hash(item: Item, content: bytes, chunking: Chunking, source: Embedder, parser_name: str) -> str:
    """Covers whatever decides the chunks and their metadata."""
    decisive = [
        PIPELINE_VERSION, parser_name, item.title, item.metadata, chunking.strategy, chunking.size, chunking.overlap,
        source.connection, source.model,
    ]  # fmt: skip
    digest = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode("utf-8"))
    digest.update(content)
    return digest.hexdigest()


def _is_unchanged(collection: Collection, item: Item, content_hash: str) -> bool:
    return Document.objects.filter(
        collection=collection, source=item.source, content_hash=content_hash, state=Document.State.READY
    ).exists()


def _skip_unchanged(lease: Lease, item: Item, content_hash: str) -> bool:
    """Give the item its outcome, if under the lock the document still is what was seen without it."""
    with transaction.atomic():
        collection = lock_collection(collection_id=lease.collection_id)
        job = hold(lease=lease)
        if not _is_unchanged(collection, item, content_hash):
            return False
        _skip(item)
        found = Document.objects.filter(collection=collection, source=item.source)
        found.update(error="", error_code="", submitted_at=Greatest("submitted_at", Value(job.created_at)))
        _drop_payloads(item, job)
    return True


def _skip(item: Item, *, reason: str = "", code: str = "") -> None:
    item.state = Item.State.SKIPPED
    item.error = reason
    item.code = code
    item.save(update_fields=["state", "error", "code"])


def _is_superseded(collection: Collection, item: Item, job: Job) -> bool:
    """Whether a version that was sent later is stored already: jobs may end in another order than they came."""
    return Document.objects.filter(collection=collection, source=item.source, submitted_at__gt=job.created_at).exists()


def _drop_payloads(item: Item, job: Job) -> None:
    """Forget the bytes of this version and of older ones that failed: nobody will want them tried again."""
    Payload.objects.filter(
        item__source=item.source,
        item__job__collection=job.collection_id,
        item__job__created_at__lte=job.created_at,
    ).exclude(item__state__in=(Item.State.QUEUED, Item.State.RUNNING)).delete()
    Payload.objects.filter(item=item).delete()


def _draft(
    item: Item,
    document: ParsedDocument,
    chunking: Chunking,
    source: Embedder,
    content_hash: str,
    check: Callable[[], None],
) -> Draft:
    title = item.title or clean_text(document.title)
    if chunking.strategy == "whole":
        whole = TextChunk(ordinal=0, text=document.text, start=0, end=len(document.text), section=(), page=None)
        chunks = [whole]
    else:
        chunks = chunk(
            document, size=chunking.size, overlap=chunking.overlap, count_tokens=source.count_tokens, check=check
        )
    return Draft(
        item=item,
        document=document,
        title=title,
        chunks=chunks,
        contexts=[contextual_text(title=title, section=part.section, text=part.text) for part in chunks],
        content_hash=content_hash,
    )


def _replace_document(collection: Collection, draft: Draft, job: Job) -> Document:
    """The document's row with its old chunks gone; the caller's transaction brings the new ones."""
    values: dict[str, Any] = {
        "title": draft.title,
        "content_hash": draft.content_hash,
        "media_type": draft.document.media_type,
        "size_bytes": draft.item.size_bytes,
        "state": Document.State.READY,
        "metadata": draft.item.metadata,
        "chunk_count": len(draft.chunks),
        "submitted_at": job.created_at,
        "error": "",
        "error_code": "",
    }
    document, created = Document.objects.update_or_create(
        collection=collection, source=draft.item.source, defaults=values
    )
    if not created:
        remove_chunks(collection=collection, document=document)
    return document


def remove_chunks(*, collection: Collection, document: Document) -> int:
    """Take a document's chunks out of index and table; the number removed. Needs the write lock."""
    old = list(Chunk.objects.filter(document=document).values_list("pk", flat=True))
    if old:
        store(collection.store).remove(collection_id=collection.pk, chunk_ids=old)
        Chunk.objects.filter(pk__in=old).delete()
    return len(old)


def _rows(collection: Collection, document: Document, draft: Draft) -> list[Chunk]:
    base = uuid.uuid5(collection.uid, draft.item.source)
    return [
        Chunk(
            collection=collection,
            document=document,
            external_id=f"{base}:{part.ordinal}",
            text=part.text,
            metadata={
                **draft.item.metadata,
                **system_metadata(source=draft.item.source, page=part.page, ordinal=part.ordinal, section=part.section),
            },
            section_path=list(part.section),
            page=part.page,
            start_offset=part.start,
            end_offset=part.end,
            ordinal=part.ordinal,
        )
        for part in draft.chunks
    ]
