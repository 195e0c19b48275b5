"""Importing a collection that a connection leads to, as a job: in batches, each with the place after it.

How far it is stands in the job's row and is written with each batch, so a job that is cut off, or tried again, goes on
where it was. At the end all of it is read there once more and held to what is here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction

from access_app.audit import record
from collections_app.models import Chunk, Collection
from collections_app.receiving import Model
from collections_app.selectors import get_collection, get_held
from collections_app.services import CollectionGone, bound_waiting, create_collection, lock_collection, touch
from connections_app.models import Connection
from connections_app.opening import opened_store
from connections_app.services import get_connection
from core_app.api import reject_unstorable
from core_app.errors import Conflict, InvalidInput, NotFound
from core_app.providers import HeldCollection, ScannedChunks
from core_app.wiring import embedder
from ingest_app import maintenance
from ingest_app.dispatching import request
from ingest_app.exchange_target import check_name
from ingest_app.fetching import BATCH, Checksum, Fetched, looked_at, refusal, store_batch
from ingest_app.import_log import record_ended
from ingest_app.itemless import succeed, tell
from ingest_app.leases import CancelledError, Heartbeat, Lease, hold
from ingest_app.models import Job

#: The embedding model, where somebody says that the vectors there were made with this server's.
SERVER = "server"


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a dry run found: the collection there, and what would become of its chunks."""

    is_new: bool
    there: HeldCollection
    fetched: Fetched


def check_fetch(*, name: str, service: str, name_there: str = "", model: str = "") -> Found:
    """Read a collection there and count what can be held here; nothing is written. Raises as `start_fetch`."""
    connection = get_connection(name=service)
    target, there = _ends(name, connection, name_there, model)
    own, fetched, after = _model_of(target, there, model), Fetched(), None
    while True:
        part = _scanned(connection, there.name, after)
        batch = looked_at(part.chunks, model=own, fills=_fills(own), into=None, fetched=fetched)
        if own is None and batch is not None:
            own = Model(connection=None, model=None, dimension=len(next(iter(batch.vectors.values()))))
        after = part.after
        if after is None:
            return Found(is_new=target is None, there=there, fetched=fetched)


def start_fetch(*, name: str, service: str, name_there: str = "", model: str = "", may_create: bool = True) -> Job:
    """Have a collection of a connection copied into a new or an existing one; the job that does it.

    `name_there` is its name there, the same by default; `model` is empty or `SERVER`. Raises NotFound for connection
    and collection, Conflict where dimension, distance or model do not fit or another import is on its way,
    InvalidInput, and what the provider raises.
    """
    connection = get_connection(name=service)
    if not may_create:
        get_collection(name=name)
    found, there = _ends(name, connection, name_there, model)
    options = {"service": service, "name_there": there.name, "model": model, "dimension": there.dimension}
    with transaction.atomic():
        bound_waiting()
        collection = found or _made(name, there)
        job = Job(kind=Job.Kind.IMPORT, collection=collection, total=there.count or 0, options=options)
        if not request(job=job):
            raise Conflict(
                "Another import into this collection is on its way. Wait for its end, or cancel it.", code="job_running"
            )
        record("job.submitted", job, collection=collection.name, after={"kind": job.kind, **options})
    return job


def run(lease: Lease, heartbeat: Heartbeat) -> None:
    """The work of such a job."""
    work = _Fetch(lease, heartbeat)
    work.copy()
    work.verify()


class _Fetch:
    def __init__(self, lease: Lease, heartbeat: Heartbeat) -> None:
        self._lease, self._heartbeat = lease, heartbeat
        job = Job.objects.get(pk=lease.job_id)
        self._options: dict[str, Any] = dict(job.options or {})
        self._fetched = Fetched(**self._options.get("fetched", {}))
        self._connection = get_connection(name=self._options["service"])
        with opened_store(self._connection) as provider:
            self._there = provider.get_collection(name=self._options["name_there"])
        self._total = self._there.count or job.total

    def copy(self) -> None:
        """Read and store batches from where the row says; nothing once all are stored."""
        after: str | None = self._options.get("after")
        while not self._options.get("is_copied"):
            try:
                part = _scanned(self._connection, self._there.name, after)
            except InvalidInput:
                if after is None:
                    raise
                # The place is not known there any more: from the beginning, where all is skipped that is here.
                self._fetched, after = Fetched(), None
                continue
            self._store(part)
            after = part.after
            self._heartbeat.check()
            if maintenance.compact(collection_id=self._lease.collection_id):
                self._heartbeat.check()
        if self._fetched.chunks and self._fetched.refused == self._fetched.chunks:
            first = self._fetched.refusals[0]
            raise InvalidInput(
                f"None of the {self._fetched.chunks:,} chunks there can be held here. The first, '{first['id']}': "
                f"{first['reason']}",
                code="nothing_to_import",
            )

    def _store(self, part: ScannedChunks) -> None:
        model = self._model()
        into = Collection.objects.select_related("active_generation").get(pk=self._lease.collection_id)
        batch = looked_at(part.chunks, model=model, fills=_fills(model), into=into, fetched=self._fetched)
        with transaction.atomic():
            assert self._lease.collection_id is not None, "an import is into a collection"
            collection = lock_collection(collection_id=self._lease.collection_id)
            if batch is not None:
                dimension = len(next(iter(batch.vectors.values())))
                own = model or Model(connection=None, model=None, dimension=dimension)
                store_batch(collection=collection, batch=batch, model=own, fetched=self._fetched)
                touch(collection=collection)
            job = self._held()
            self._options |= {"after": part.after, "is_copied": part.after is None, "fetched": asdict(self._fetched)}
            job.options, job.result = self._options, self._outcome()
            job.done, job.total = self._fetched.chunks, max(self._total, self._fetched.chunks)
            job.step = f"Storing chunks: {job.done:,} of {job.total:,}."
            job.save(update_fields=["options", "result", "done", "total", "step"])

    def verify(self) -> None:
        """Read all of it there again and hold it to what is here. Raises Conflict where it differs."""
        model, theirs, ours, after, read = self._model(), Checksum(), Checksum(), None, 0
        while True:
            part = _scanned(self._connection, self._there.name, after)
            held = [one for one in part.chunks if not refusal(one, dimension=_size(model), fills=_fills(model))]
            for chunk in held:
                theirs.add(chunk_id=chunk.id, text=chunk.text, metadata=chunk.metadata)
            rows = Chunk.objects.filter(
                collection=self._lease.collection_id, external_id__in=[chunk.id for chunk in held]
            )
            for key, text, metadata in rows.values_list("external_id", "text", "metadata"):
                ours.add(chunk_id=key, text=text, metadata=metadata)
            read, after = read + len(part.chunks), part.after
            step = f"Comparing chunks: {read:,} of {self._fetched.chunks:,}."
            tell(lease=self._lease, step=step, done=min(read, self._fetched.chunks), total=self._fetched.chunks)
            self._heartbeat.check()
            if after is None:
                break
        if theirs != ours or read != self._fetched.chunks:
            self._begin_again()
            raise Conflict(
                f"What is here is not what is there: {ours.count:,} of {theirs.count:,} chunks. Somebody writes to one "
                "of the two. Try the job again: what is here already is skipped.",
                code="differs_there",
            )
        self._end(checksum=str(ours))

    def _begin_again(self) -> None:
        with transaction.atomic():
            job = self._held()
            job.options = {key: self._options[key] for key in ("service", "name_there", "model", "dimension")}
            job.save(update_fields=["options"])

    def _end(self, *, checksum: str) -> None:
        with transaction.atomic():
            job = self._held()
            succeed(job=job, result={**self._outcome(), "checksum": checksum})
            record_ended(job=job)

    def _model(self) -> Model | None:
        found = Collection.objects.select_related("active_generation").filter(pk=self._lease.collection_id).first()
        if found is None:
            raise CollectionGone
        return _model_of(found, self._there, self._options["model"])

    def _held(self) -> Job:
        job = hold(lease=self._lease)
        if job.cancel_requested:
            raise CancelledError
        return job

    def _outcome(self) -> dict[str, Any]:
        return {**asdict(self._fetched), "documents": 0, "documents_changed": 0, "removed": 0}


def _ends(name: str, connection: Connection, name_there: str, model: str) -> tuple[Collection | None, HeldCollection]:
    """Both collections, found to fit each other."""
    check_name(name)
    if model not in ("", SERVER):
        raise InvalidInput(f"model: leave it out, or send '{SERVER}'.", code="invalid")
    try:
        target: Collection | None = get_held(name=name)
    except NotFound:
        target = None
    with opened_store(connection) as provider:
        there = provider.get_collection(name=name_there or name)
    if target is not None and target.distance != there.distance:
        raise Conflict(
            f"This collection measures distance as '{target.distance}', the one there as '{there.distance}'. Import it "
            "into a new collection.",
            code="distance_mismatch",
        )
    own = _model_of(target, there, model)
    if own is not None and there.dimension not in (None, own.dimension):
        whose = "the server's model makes" if target is None or target.active_generation is None else "here have"
        raise Conflict(
            f"The vectors there have {there.dimension} numbers, those that {whose} {own.dimension}. Import them into a "
            "new collection, and name no model unless it is the one that they were made with.",
            code="dimension_mismatch",
        )
    return target, there


def _model_of(target: Collection | None, there: HeldCollection, model: str) -> Model | None:
    """What the vectors are stored as; None while nobody knows their dimension. Raises Conflict."""
    source, generation = embedder(), None if target is None else target.active_generation
    if model == SERVER:
        own = Model(connection=source.connection, model=source.model, dimension=source.dimension)
    elif generation is None and there.dimension is None:
        return None
    else:
        size = generation.dimension if generation is not None else int(there.dimension or 0)
        own = Model(connection=None, model=None, dimension=size)
    if generation is None:
        return own
    if (generation.embedding_connection, generation.embedding_model) != (own.connection, own.model):
        raise Conflict(
            f"This collection holds vectors of {generation.embedding_model or 'its callers'}, and those that come are "
            f"said to be of {own.model or 'an unknown model'}. Name the model '{SERVER}' if they were made with this "
            "server's, or import them into a new collection.",
            code="embedding_mismatch",
        )
    return own


def _made(name: str, there: HeldCollection) -> Collection:
    try:
        reject_unstorable(dict(there.metadata), "metadata")
        metadata = dict(there.metadata)
    except InvalidInput:
        metadata = {}  # of no use to a search
    return create_collection(name=name, metadata=metadata, distance=there.distance)


def _scanned(connection: Connection, name: str, after: str | None) -> ScannedChunks:
    with opened_store(connection) as provider:
        return provider.scan(name=name, after=after, limit=BATCH)


def _fills(model: Model | None) -> bool:
    return model is not None and model.model is not None


def _size(model: Model | None) -> int | None:
    return None if model is None else model.dimension
