"""Changing how a collection's texts are cut: what is stored is cut anew behind the scenes, document by document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from access_app.audit import record
from collections_app.models import Collection, Document
from collections_app.selectors import get_collection, get_held
from collections_app.services import lock_collection
from core_app.sql import statement
from core_app.wiring import app_settings
from ingest_app.chunking_settings import Chunking
from ingest_app.dispatching import request
from ingest_app.leases import Lease, hold
from ingest_app.models import Job

ROOM = "ingest_app"


@dataclass(frozen=True, kw_only=True)
class ChunkingState:
    """How a collection's texts are cut, and how many of its documents are still cut otherwise."""

    chunking: Chunking
    #: What the collection itself says; empty where the server's settings hold.
    own: Mapping[str, Any]
    documents: int
    outdated: int
    #: The job that cuts them anew, where one is on its way.
    job: Job | None


def chunking_of(collection: Collection, own: Mapping[str, Any] | None = None) -> Chunking:
    """The collection's own setting, or `own` in its place, over the server's. Raises InvalidInput."""
    defaults = app_settings().ingestion
    return Chunking.of(
        collection.chunking if own is None else own, size=defaults.chunk_tokens, overlap=defaults.chunk_overlap_tokens
    )


def chunking_state(*, name: str) -> ChunkingState:
    """How a collection's texts are cut. Raises NotFound."""
    collection = get_collection(name=name)
    chunking = chunking_of(collection)
    ready = Document.objects.filter(collection=collection, state=Document.State.READY)
    return ChunkingState(
        chunking=chunking,
        own=collection.chunking,
        documents=ready.count(),
        outdated=ready.exclude(cut_by=chunking.signature).count(),
        job=Job.objects.filter(collection=collection, kind=Job.Kind.RECHUNK, finished_at__isnull=True).first(),
    )


def set_chunking(*, name: str, own: Mapping[str, Any]) -> ChunkingState:
    """Cut a collection's texts like this from now on; an empty mapping means: as the server's settings say.

    Documents that are cut otherwise are cut anew by a job; until its turn comes each is found as it was. Raises
    NotFound, and InvalidInput naming the field that cannot be.
    """
    with transaction.atomic():
        collection = lock_collection(collection_id=get_held(name=name).pk)
        chunking = chunking_of(collection, own)
        record("collection.chunking_changed", collection, before=collection.chunking, after=own)
        collection.chunking = dict(own)
        collection.save(update_fields=["chunking", "updated_at"])
        outdated = Document.objects.filter(collection=collection, state=Document.State.READY)
        if outdated.exclude(cut_by=chunking.signature).exists():
            # One that is on its way sees the new setting by itself.
            request(job=Job(kind=Job.Kind.RECHUNK, collection=collection))
    return chunking_state(name=name)


def plan_items(*, lease: Lease) -> int:
    """Make items of the documents that are cut otherwise than their collection says by now; the number of new ones.

    A document that failed in this job is left alone until the job is tried again.
    """
    with transaction.atomic():
        collection = lock_collection(collection_id=lease.collection_id)
        job = hold(lease=lease)
        with connection.cursor() as cursor:
            cursor.execute(
                statement(ROOM, "plan_rechunking"),
                {"job_id": job.pk, "collection_id": collection.pk, "signature": chunking_of(collection).signature},
            )
            return int(cursor.rowcount)
