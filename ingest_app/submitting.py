"""Taking sources in: a job, its items and their bytes in one transaction, then a nudge to a worker."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from celery import current_app
from django.db import IntegrityError, transaction
from kombu.exceptions import OperationalError

from collections_app.models import Collection
from collections_app.services import CollectionGone, get_or_create_default
from core_app.errors import Conflict, InvalidInput, RagsiteError, UnsupportedType
from core_app.wiring import app_settings
from ingest_app.models import Item, Job, Payload
from ingest_app.parsing import sniff

logger = logging.getLogger(__name__)

RUN_JOB = "ingest.run_job"
MAX_SOURCE_BYTES = 1024


@dataclass(frozen=True, kw_only=True)
class Source:
    """One thing to index: a file's bytes, or a text that is known to be one."""

    name: str
    content: bytes
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_text: bool = False


def submit(*, collection_name: str, sources: Sequence[Source]) -> Job:
    """A queued job for these sources; bad ones are failed items of it and never stop the others.

    Raises InvalidInput when there is nothing to do, UnsupportedType when nothing sent is of a known
    type, NotFound for an unknown collection, and Conflict when the collection's vectors are made by its
    callers, so that the server has no model to embed text for it.
    """
    if not sources:
        raise InvalidInput("Send at least one file or text.", code="nothing_sent")
    limit = app_settings().ingestion.max_files
    if len(sources) > limit:
        raise InvalidInput(f"Send at most {limit} files or texts in one request.", code="too_many_files")
    sources = [replace(source, name=clean_text(source.name)) for source in sources]
    collection = get_or_create_default(name=collection_name)
    _check_embeddable(collection)
    problems = [_problem(source, sources[:index]) for index, source in enumerate(sources)]
    if all(problem is not None and problem.code == "unsupported_type" for problem in problems):
        raise UnsupportedType(problems[0].detail if problems[0] else "")
    try:
        with transaction.atomic():
            job = Job.objects.create(collection=collection)
            for ordinal, (source, problem) in enumerate(zip(sources, problems, strict=True)):
                _add_item(job, ordinal, source, problem)
            transaction.on_commit(lambda: dispatch(job_id=str(job.pk)))
    except IntegrityError:
        # The foreign key: somebody deleted the collection since it was looked up.
        raise CollectionGone from None
    return job


def dispatch(*, job_id: str, expires_seconds: float | None = None) -> None:
    """Tell a worker that a job is waiting. A lost message costs time, nothing else: the reaper repeats it."""
    try:
        current_app.send_task(RUN_JOB, args=[job_id], expires=expires_seconds, retry=False)
    except (OperationalError, OSError):
        logger.warning("the broker cannot be reached; job %s waits for the next round", job_id, exc_info=True)


def _check_embeddable(collection: Collection) -> None:
    generation = collection.active_generation
    if generation is not None and generation.embedding_model is None:
        raise Conflict(
            f"Collection '{collection.name}' was filled with vectors of its callers and has no embedding model. "
            "Send text to another collection, or set a model of the same dimension for this one.",
            code="embedding_mismatch",
        )


def _problem(source: Source, before: Sequence[Source]) -> RagsiteError | None:
    """What keeps this source from being tried at all."""
    largest = app_settings().ingestion.max_file_bytes
    if not source.name.strip():
        return InvalidInput("A source needs a name.", code="invalid_source")
    if len(source.name.encode("utf-8")) > MAX_SOURCE_BYTES:
        return InvalidInput(f"Give the source a name of at most {MAX_SOURCE_BYTES} bytes.", code="invalid_source")
    if any(other.name == source.name for other in before):
        return InvalidInput("Sent twice in one request. Give each source its own name.", code="duplicate_source")
    if len(source.content) > largest:
        return InvalidInput(f"Larger than {largest} bytes. Split it.", code="too_large")
    if not source.is_text and source.content and sniff(name=source.name, content=source.content) is None:
        return UnsupportedType(
            f"'{source.name}' is of a type that cannot be read. Send Markdown, text, HTML, PDF or DOCX."
        )
    return None


def _add_item(job: Job, ordinal: int, source: Source, problem: RagsiteError | None) -> None:
    item = Item.objects.create(
        job=job,
        ordinal=ordinal,
        source=source.name[:MAX_SOURCE_BYTES],
        title=clean_text(source.title),
        metadata=clean_json(source.metadata),
        size_bytes=len(source.content),
        state=Item.State.FAILED if problem else Item.State.QUEUED,
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
