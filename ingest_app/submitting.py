"""Taking sources in: a job, its items and their bytes in one transaction, then a nudge to a worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from access_app.audit import record
from collections_app.models import Collection
from collections_app.services import CollectionGone, get_or_create_default
from core_app.errors import Conflict, InvalidInput, RagsiteError, Unavailable, UnsupportedType
from core_app.sql import statement
from core_app.wiring import app_settings, store
from ingest_app.dispatching import dispatch
from ingest_app.models import Item, Job, Payload
from ingest_app.parsing import refusal, sniff

MAX_SOURCE_BYTES = 1024
#: When a caller may try again for whom there is no room.
RETRY_AFTER_SECONDS = 30


@dataclass(frozen=True, kw_only=True)
class Source:
    """One thing to index: a file's bytes, or a text that is known to be one."""

    name: str
    content: bytes
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_text: bool = False
    #: The folder or feed it is synced from.
    origin: str = ""


def submit(*, collection_name: str, sources: Sequence[Source], refuse_unsupported: bool = True) -> Job:
    """A queued job for these sources; bad ones are failed items of it and never stop the others.

    Raises InvalidInput when there is nothing to do, UnsupportedType when nothing sent is of a known type (unless
    that is to be told by the items), NotFound for an unknown collection, and Conflict when the collection's
    vectors are made by its callers, so that the server has no model to embed text for it, and Unavailable while
    too much waits already.
    """
    if not sources:
        raise InvalidInput("Send at least one file or text.", code="nothing_sent")
    limit = app_settings().ingestion.max_files
    if len(sources) > limit:
        raise InvalidInput(f"Send at most {limit} files or texts in one request.", code="too_many_files")
    sources = [replace(source, name=clean_text(source.name)) for source in sources]
    check_room(files=len(sources), size=sum(len(source.content) for source in sources))
    collection = get_or_create_default(name=collection_name)
    _check_embeddable(collection)
    problems = find_problems(sources)
    if refuse_unsupported and all(problem is not None and problem.code == "unsupported_type" for problem in problems):
        raise UnsupportedType(problems[0].detail if problems[0] else "")
    try:
        with transaction.atomic():
            job = Job.objects.create(collection=collection)
            for ordinal, (source, problem) in enumerate(zip(sources, problems, strict=True)):
                add_item(job=job, ordinal=ordinal, source=source, problem=problem)
            sent = {"kind": job.kind, "files": len(sources), "names": [source.name for source in sources]}
            record("job.submitted", job, collection=collection.name, after=sent)
            transaction.on_commit(lambda: dispatch(job_id=str(job.pk), kind=job.kind))
    except IntegrityError:
        # The foreign key: somebody deleted the collection since it was looked up.
        raise CollectionGone from None
    return job


def check_room(*, files: int, size: int) -> None:
    """Raise Unavailable while so much waits that so many files more, of `size` bytes, would only fill the disk."""
    section = app_settings().ingestion
    with connection.cursor() as cursor:
        cursor.execute(statement("ingest_app", "waiting"))
        waiting, waiting_bytes = cursor.fetchone()
    is_full = waiting + files > section.max_waiting_files or waiting_bytes + size > section.max_waiting_bytes
    # What is too much by itself is let in while nothing waits: it would never find room.
    if waiting and is_full:
        raise Unavailable(
            f"{waiting:,} files wait to be indexed already. Send these later, or start more workers.",
            code="queue_full",
            retry_after_seconds=RETRY_AFTER_SECONDS,
        )


def _check_embeddable(collection: Collection) -> None:
    store(collection.store).check_rows(collection_id=collection.pk)
    generation = collection.active_generation
    if generation is not None and generation.embedding_model is None:
        raise Conflict(
            f"Collection '{collection.name}' was filled with vectors of its callers and has no embedding model. "
            "Send text to another collection, or set a model of the same dimension for this one.",
            code="embedding_mismatch",
        )


def find_problems(sources: Iterable[Source]) -> list[RagsiteError | None]:
    """What keeps each source from being tried at all; None for those that will be."""
    names: set[str] = set()
    problems = []
    for source in sources:
        problems.append(_problem(source, is_repeated=source.name in names))
        names.add(source.name)
    return problems


def _problem(source: Source, *, is_repeated: bool) -> RagsiteError | None:
    largest = app_settings().ingestion.max_file_bytes
    if not source.name.strip():
        return InvalidInput("A source needs a name.", code="invalid_source")
    if len(source.name.encode("utf-8")) > MAX_SOURCE_BYTES:
        return InvalidInput(f"Give the source a name of at most {MAX_SOURCE_BYTES} bytes.", code="invalid_source")
    if is_repeated:
        return InvalidInput("Sent twice in one request. Give each source its own name.", code="duplicate_source")
    if len(source.content) > largest:
        return InvalidInput(f"Larger than {largest} bytes. Split it.", code="too_large")
    if not source.is_text and source.content and sniff(name=source.name, content=source.content) is None:
        found = refusal(name=source.name, content=source.content)
        return (
            UnsupportedType(found.detail)
            if found.code == "unsupported_type"
            else InvalidInput(found.detail, code=found.code)
        )
    return None


def add_item(*, job: Job, ordinal: int, source: Source, problem: RagsiteError | None, depth: int = 0) -> None:
    """One source of a job, waiting with its bytes, or failed because of its problem. Needs a transaction."""
    item = Item.objects.create(
        job=job,
        ordinal=ordinal,
        source=source.name[:MAX_SOURCE_BYTES],
        title=clean_text(source.title),
        metadata=clean_json(source.metadata),
        size_bytes=len(source.content),
        origin=source.origin,
        depth=depth,
        state=Item.State.FAILED if problem else Item.State.QUEUED,
        finished_at=timezone.now() if problem else None,
        error=problem.detail if problem else "",
        code=problem.code if problem else "",
    )
    if problem is None:
        Payload.objects.create(item=item, is_text=source.is_text, content=source.content)


def clean_text(text: str) -> str:
    """Without what Postgres cannot keep: NUL and lone surrogates."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8")


def clean_json(value: Any) -> Any:
    """The same for every string and key of a JSON value."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): clean_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(inner) for inner in value]
    return value
