"""From bytes to searchable chunks: read and cut each item, embed many together, write each at once."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Greatest
from django.utils import timezone

from collections_app.context import contextual_text, system_metadata
from collections_app.disabling import DisabledTexts, keep_vectors
from collections_app.embedding import chosen_connection, embedder_of
from collections_app.models import Chunk, Collection, Document
from collections_app.services import CollectionGone, lock_collection, touch, writable_space
from core_app.errors import Conflict
from core_app.ports import Embedder, IndexedChunk, Space, Vectors
from core_app.wiring import app_settings, store
from ingest_app.chunking import RowRange, TextChunk
from ingest_app.chunking_settings import Chunking
from ingest_app.extracted import keep, parsed_of
from ingest_app.leases import Lease, hold
from ingest_app.models import Item, Job, Payload
from ingest_app.ownership import check_free
from ingest_app.parsing import ParsedDocument, sniff
from ingest_app.parsing.media_types import ZIP
from ingest_app.parsing.sandbox import ParserProcess
from ingest_app.rechunking import chunking_of
from ingest_app.removing import drop_payloads, remove_chunks
from ingest_app.submitting import clean_text
from ingest_app.taking_apart import take_apart

logger = logging.getLogger(__name__)

#: Part of every content hash: raise it when parsing or chunking changes, so that unchanged files are redone.
PIPELINE_VERSION = 3


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A document that was read and cut: its chunks and their contextual texts, in one order."""

    item: Item
    document: ParsedDocument
    title: str
    metadata: Mapping[str, Any]
    chunking: Chunking
    chunks: Sequence[TextChunk]
    contexts: Sequence[str]
    source_digest: str
    content_hash: str
    #: What its chunks are counted and embedded with.
    source: Embedder
    #: The content hash of the stored document that is cut anew; None where a source was sent.
    cut_anew_from: str | None = None


@cache
def parser() -> ParserProcess:
    """This process's one parser child."""
    section = app_settings().ingestion
    return ParserProcess(timeout_seconds=section.parse_timeout_seconds, memory_bytes=section.parse_memory_bytes)


def draft_item(*, lease: Lease, item: Item, check: Callable[[], None]) -> Draft | None:
    """Read and cut one item of a job that is held under `lease`; None when it is indexed already.

    `check` is called now and then and may raise. Raises UnableToParse for a file that gives no text.
    An archive is taken apart instead: its files become items of the job. Changes nothing that a search could see.
    """
    collection = Collection.objects.filter(pk=lease.collection_id).first()
    if collection is None:
        raise CollectionGone
    if lease.kind == Job.Kind.RECHUNK:
        return _draft_anew(lease, collection, item, check)
    payload = Payload.objects.get(item=item)
    content = bytes(payload.content)
    if not payload.is_text and sniff(name=item.source, content=content) == ZIP:
        take_apart(lease=lease, item=item, content=content, parser=parser(), check=check)
        return None
    parser_name = _parser_name(item, is_text=payload.is_text)
    digest = _source_digest(parser_name, content)
    chunking, source = chunking_of(collection), embedder_of(collection)
    content_hash = _content_hash(item.title, item.metadata, digest, chunking, source)
    if _is_unchanged(collection, item, content_hash) and _skip_unchanged(lease, item, content_hash):
        return None
    document = parser().parse(name=parser_name, content=content, check=check)
    chunks = chunking.cut(document, count_tokens=source.count_tokens, check=check)
    title = item.title or clean_text(document.title)
    return Draft(
        item=item,
        document=document,
        title=title,
        metadata=item.metadata,
        chunking=chunking,
        chunks=chunks,
        contexts=_contexts(title, chunks),
        source_digest=digest,
        content_hash=content_hash,
        source=source,
    )


def _draft_anew(lease: Lease, collection: Collection, item: Item, check: Callable[[], None]) -> Draft | None:
    """A stored document cut as its collection says by now; None where there is nothing to do."""
    stored = Document.objects.select_related("extracted").filter(collection=collection, source=item.source).first()
    chunking = chunking_of(collection)
    if stored is None or stored.cut_by == chunking.signature:
        with transaction.atomic():
            hold(lease=lease)
            _skip(item)
        return None
    extracted = getattr(stored, "extracted", None)
    if extracted is None:
        raise Conflict(
            "Its text was not kept, for it was indexed by an older version. Send the file again.", code="text_not_kept"
        )
    document, source = parsed_of(extracted), embedder_of(collection)
    chunks = chunking.cut(document, count_tokens=source.count_tokens, check=check)
    return Draft(
        item=item,
        document=document,
        title=stored.title,
        metadata=stored.metadata,
        chunking=chunking,
        chunks=chunks,
        contexts=_contexts(stored.title, chunks),
        source_digest=extracted.source_digest,
        content_hash=_content_hash(extracted.given_title, stored.metadata, extracted.source_digest, chunking, source),
        source=source,
        cut_anew_from=stored.content_hash,
    )


def write_draft(*, lease: Lease, draft: Draft, vectors: Vectors) -> None:
    """Put one document in place of its older self: chunks, vectors, words and outcome in one transaction.

    A version that was sent before the stored one is left out. Raises Conflict when the collection's
    vectors are of another model or the document is another connector's, LeaseLostError when the job is no longer ours.
    """
    item, source = draft.item, draft.source
    with transaction.atomic():
        collection = lock_collection(collection_id=lease.collection_id)
        job = hold(lease=lease)
        # Looked at again, now that nobody else can write: another connector may have been quicker.
        check_free(collection_id=collection.pk, origin=item.origin, name=item.source)
        if _is_superseded(collection, draft, job):
            _skip(item, reason="A version that was sent later is indexed already.", code="superseded")
            drop_payloads(item=item, job=job)
            return
        if source.connection != chosen_connection(collection):
            raise Conflict(
                "The collection got another embedding connection meanwhile. Send the file again.",
                code="embedding_mismatch",
            )
        space = writable_space(
            collection=collection,
            embedding_connection=source.connection,
            embedding_model=source.model,
            dimension=vectors.shape[1],
        )
        document, disabled = _replace_document(collection, draft, job)
        rows = _rows(collection, document, draft)
        disabled.mark(rows)
        rows = Chunk.objects.bulk_create(rows, batch_size=500)
        _index(collection, space, rows, draft.contexts, vectors)
        item.state = Item.State.SUCCEEDED
        item.finished_at = timezone.now()
        item.chunks = len(rows)
        item.error = item.code = ""
        item.save(update_fields=["state", "finished_at", "chunks", "error", "code"])
        drop_payloads(item=item, job=job)
        touch(collection=collection)


def _index(
    collection: Collection, space: Space, rows: Sequence[Chunk], contexts: Sequence[str], vectors: Vectors
) -> None:
    """Chunks that are disabled are not indexed; their vectors are kept for when they are not any more."""
    indexed, disabled = [], {}
    for row, context, vector in zip(rows, contexts, vectors, strict=True):
        if row.disabled_at is None:
            indexed.append(IndexedChunk(chunk_id=row.pk, text=context, embedding=vector))
        else:
            disabled[row.pk] = vector
    keep_vectors(collection=collection, vectors=disabled)
    store(collection.store).add(space=space, language=collection.language, chunks=indexed)


def _parser_name(item: Item, *, is_text: bool) -> str:
    """Texts without a known extension are read as Markdown, which plain text is."""
    known = (".md", ".markdown", ".txt", ".html", ".htm")
    if is_text and not item.source.lower().endswith(known):
        return f"{item.source}.md"
    return item.source


def content_hash_of(*, collection: Collection, name: str, content: bytes, metadata: Mapping[str, Any]) -> str:
    """The content hash that the document of such a file would have."""
    digest = _source_digest(name, content)
    return _content_hash("", metadata, digest, chunking_of(collection), embedder_of(collection))


def _source_digest(parser_name: str, content: bytes) -> str:
    return hashlib.sha256(json.dumps(parser_name).encode() + content).hexdigest()


def _content_hash(
    title: str, metadata: Mapping[str, Any], source_digest: str, chunking: Chunking, model: Embedder
) -> str:
    """Covers whatever decides the chunks and their metadata. `title` is the one that was sent, if one was."""
    decisive = [
        PIPELINE_VERSION, source_digest, title, metadata, chunking.signature, model.connection, model.model,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


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
        check_free(collection_id=collection.pk, origin=item.origin, name=item.source)
        _skip(item)
        found = Document.objects.filter(collection=collection, source=item.source)
        submitted_at = Greatest("submitted_at", Value(job.created_at))
        found.update(error="", error_code="", submitted_at=submitted_at, origin=item.origin)
        drop_payloads(item=item, job=job)
    return True


def _skip(item: Item, *, reason: str = "", code: str = "") -> None:
    item.state = Item.State.SKIPPED
    item.finished_at = timezone.now()
    item.error = reason
    item.code = code
    item.save(update_fields=["state", "finished_at", "error", "code"])


def _is_superseded(collection: Collection, draft: Draft, job: Job) -> bool:
    """Whether another version is stored by now: jobs may end in another order than they came."""
    stored = Document.objects.filter(collection=collection, source=draft.item.source)
    if draft.cut_anew_from is not None:
        return not stored.filter(content_hash=draft.cut_anew_from).exists()
    return stored.filter(submitted_at__gt=job.created_at).exists()


def _contexts(title: str, chunks: Sequence[TextChunk]) -> list[str]:
    return [contextual_text(title=title, section=part.section, text=part.text) for part in chunks]


def _replace_document(collection: Collection, draft: Draft, job: Job) -> tuple[Document, DisabledTexts]:
    """The document's row with its old chunks gone, and what was disabled of it; the caller's transaction brings the
    new ones.
    """
    values: dict[str, Any] = {
        "title": draft.title,
        "content_hash": draft.content_hash,
        "media_type": draft.document.media_type,
        "state": Document.State.READY,
        "metadata": draft.metadata,
        "chunk_count": len(draft.chunks),
        "cut_by": draft.chunking.signature,
        "error": "",
        "error_code": "",
    }
    if draft.cut_anew_from is None:
        values |= {
            "size_bytes": draft.item.size_bytes,
            "submitted_at": job.created_at,
            "origin": draft.item.origin,
        }
    document, created = Document.objects.update_or_create(
        collection=collection, source=draft.item.source, defaults=values
    )
    disabled = DisabledTexts(document)
    if not created:
        remove_chunks(collection=collection, document=document)
    if draft.cut_anew_from is None:
        keep(document=document, parsed=draft.document, source_digest=draft.source_digest, given_title=draft.item.title)
    return document, disabled


def _rows_metadata(rows: RowRange | None) -> dict[str, Any]:
    """Which rows of a sheet a passage holds, both ends included, counted from 1."""
    if rows is None:
        return {}
    named = {"sheet": rows.sheet} if rows.sheet else {}
    return {**named, "row_start": rows.first, "row_end": rows.last}


def _rows(collection: Collection, document: Document, draft: Draft) -> list[Chunk]:
    base = uuid.uuid5(collection.uid, draft.item.source)
    return [
        Chunk(
            collection=collection,
            document=document,
            external_id=f"{base}:{part.ordinal}",
            text=part.text,
            metadata={
                **draft.document.properties,
                **_rows_metadata(part.rows),
                **draft.metadata,
                **system_metadata(source=draft.item.source, page=part.page, ordinal=part.ordinal, section=part.section),
            },
            section_path=list(part.section),
            page=part.page,
            start_offset=part.start,
            end_offset=part.end,
            parent_start=None if part.parent is None else part.parent[0],
            parent_end=None if part.parent is None else part.parent[1],
            ordinal=part.ordinal,
        )
        for part in draft.chunks
    ]
