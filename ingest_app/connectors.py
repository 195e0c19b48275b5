"""Connectors: made, changed, run when asked or when their time has come, removed."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from access_app.audit import record
from collections_app.models import Collection
from collections_app.selectors import get_collection, get_held
from collections_app.services import CollectionGone, bound_waiting
from core_app.errors import Conflict, InvalidInput, NotFound
from ingest_app.dispatching import request
from ingest_app.models import Connector, Job
from ingest_app.origins.found import Unreadable
from ingest_app.origins.git import check_branch
from ingest_app.origins.targets import target_of
from ingest_app.places import Place, check_allowed
from ingest_app.steering import finish_cancelled
from ingest_app.submitting import MAX_SOURCE_BYTES, clean_json, clean_text

logger = logging.getLogger(__name__)

#: Of one collection.
MOST_CONNECTORS = 100
MOST_URLS = 10_000
#: How often a place may be read.
SHORTEST, LONGEST = 60, 31 * 24 * 3600
MOST_PREFIX_CHARACTERS = 200
MOST_LOCATION_BYTES = 2000
#: Started in one round of beat; the next round comes soon.
STARTED_PER_ROUND = 1000
DUE_WAIT_SECONDS = 0.5
#: Ended jobs of one connector that are remembered.
JOBS_KEPT = 50
UNENDED = Q(finished_at__isnull=True)


@dataclass(frozen=True, kw_only=True)
class NewConnector:
    """What is to be read, and what is to be made of it. A repository's files get its name as their prefix."""

    kind: str
    location: str = ""
    branch: str = ""
    urls: Sequence[str] = ()
    prefix: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    remove_vanished: bool = False
    every_seconds: int | None = None

    @property
    def file_prefix(self) -> str:
        """The prefix that was given, or a repository's own name, as its clone's folder would have it."""
        if self.prefix is not None:
            return clean_text(self.prefix)
        name = self.location.strip().rstrip("/").rpartition("/")[2].removesuffix(".git")
        return f"{clean_text(name)}/" if self.kind == Connector.Kind.GIT and name else ""


def create_connector(*, collection_name: str, new: NewConnector) -> Connector:
    """A connector of a collection; with a schedule it runs for the first time at once.

    Raises NotFound, InvalidInput naming the field, NotAllowed for a folder that the operator did not open, and
    Conflict when the collection has one for the same place, or too many.
    """
    collection = get_held(name=collection_name)
    _check_schedule(new.every_seconds)
    key = uuid.uuid4()
    place = _checked_place(new, key)
    connector = Connector(
        id=key,
        collection=collection,
        kind=place.kind,
        location="" if place.kind == Connector.Kind.URLS else place.location,
        branch=place.branch,
        urls=list(place.urls),
        prefix=place.prefix,
        metadata=clean_json(new.metadata),
        remove_vanished=new.remove_vanished,
        every_seconds=new.every_seconds,
        next_run_at=None if new.every_seconds is None else timezone.now(),
        origin=place.origin,
    )
    if Connector.objects.filter(collection=collection).count() >= MOST_CONNECTORS:
        raise Conflict(f"A collection has at most {MOST_CONNECTORS} connectors. Remove one.", code="too_many")
    try:
        with transaction.atomic():
            bound_waiting()
            connector.save(force_insert=True)
            record("connector.created", connector, after=_described(connector))
    except IntegrityError:
        if not Collection.objects.filter(pk=collection.pk).exists():
            raise CollectionGone from None
        raise Conflict("The collection has a connector for this place already.", code="connector_exists") from None
    return connector


def list_connectors(*, collection_name: str) -> QuerySet[Connector]:
    """A collection's connectors, oldest first. Raises NotFound."""
    collection = get_collection(name=collection_name)
    return Connector.objects.select_related("collection").filter(collection=collection)


def get_connector(*, collection_name: str, connector_id: uuid.UUID) -> Connector:
    """Raises NotFound."""
    found = list_connectors(collection_name=collection_name).filter(pk=connector_id).first()
    if found is None:
        raise NotFound(f"Connector '{connector_id}' not found", code="connector_not_found")
    return found


def last_jobs(*, connectors: Iterable[Connector]) -> dict[uuid.UUID, Job]:
    """What each did last, or does now, by the connector's key; one that never ran is missing."""
    keys = [connector.pk for connector in connectors]
    newest = Job.objects.select_related("collection").filter(connector__in=keys)
    jobs = newest.order_by("connector_id", "-created_at").distinct("connector_id")
    return {job.connector_id: job for job in jobs if job.connector_id is not None}


def change_connector(*, connector: Connector, values: Mapping[str, Any]) -> Connector:
    """Set `every_seconds`, `remove_vanished`, `metadata`, or the `urls` of a list. Raises InvalidInput.

    With another schedule it runs next when that is due, counted from now.
    """
    unknown = sorted(set(values) - {"every_seconds", "remove_vanished", "metadata", "urls"})
    if unknown:
        raise InvalidInput(f"{unknown[0]}: cannot be changed. Make another connector.", code="invalid")
    if "urls" in values and connector.kind != Connector.Kind.URLS:
        raise InvalidInput("urls: this connector reads no list of addresses.", code="invalid_connector")
    with transaction.atomic():
        held = Connector.objects.select_for_update(no_key=True, of=("self",)).filter(pk=connector.pk).first()
        if held is None:
            raise NotFound(f"Connector '{connector.pk}' not found", code="connector_not_found")
        before = _described(held)
        if values.get("every_seconds", held.every_seconds) != held.every_seconds:
            _check_schedule(values["every_seconds"])
            held.every_seconds = values["every_seconds"]
            held.next_run_at = _next_run(held.every_seconds, timezone.now())
        if "urls" in values:
            held.urls = _checked_urls(values["urls"])
        if "remove_vanished" in values:
            held.remove_vanished = values["remove_vanished"]
        if "metadata" in values:
            held.metadata = clean_json(values["metadata"])
        held.save()
        record("connector.changed", held, before=before, after=_described(held))
    return held


def _described(connector: Connector) -> dict[str, Any]:
    """What of a connector staff decide, for the audit log."""
    names = ("kind", "location", "branch", "urls", "prefix", "metadata", "remove_vanished", "every_seconds")
    return {name: getattr(connector, name) for name in names}


def delete_connector(*, connector: Connector) -> None:
    """Forget a connector; its documents stay. A job of it that has not ended is cancelled."""
    with transaction.atomic():
        # The connector before its jobs, as whoever makes one of them.
        bound_waiting()
        Connector.objects.select_for_update(of=("self",)).filter(pk=connector.pk).first()
        for job in Job.objects.select_for_update(no_key=True).filter(UNENDED, connector=connector):
            job.cancel_requested = True
            if job.lease_expires_at is None or job.lease_expires_at < timezone.now():
                finish_cancelled(job=job)
            job.save()
        record("connector.deleted", connector, before=_described(connector))
        connector.delete()


def run_connector(*, connector: Connector, dry_run: bool = False) -> Job:
    """A queued job that reads the connector's place now, or says what it would do.

    Raises Conflict while it is being read.
    """
    with transaction.atomic():
        job = _request(connector, dry_run=dry_run)
        if job is None:
            raise Conflict("The connector is being read already. Wait for that job, or cancel it.", code="job_running")
        asked = {"kind": job.kind, "connector": str(connector), "dry_run": dry_run}
        record("job.submitted", job, collection=connector.collection.name, after=asked)
    return job


def run_due() -> int:
    """Queue the reading of connectors whose time has come; the number queued.

    One that is being read still is left out this time. However many processes ask, each is queued once. Those of a
    collection that somebody else holds, such as who deletes it, wait for the next round.
    """
    due = Connector.objects.filter(next_run_at__lte=timezone.now()).order_by("next_run_at")
    queued = 0
    busy: set[int] = set()
    for key, collection_id in list(due.values_list("pk", "collection_id")[:STARTED_PER_ROUND]):
        if collection_id in busy:
            continue
        try:
            queued += _run_if_due(key)
        except (OperationalError, NotFound) as error:
            busy.add(collection_id)
            logger.warning("connector %s was not run this time: %s", key, str(error).partition("\n")[0])
    return queued


def _run_if_due(key: uuid.UUID) -> bool:
    with transaction.atomic():
        # Shorter than the database takes to call two who wait for each other a deadlock.
        bound_waiting(seconds=DUE_WAIT_SECONDS)
        now = timezone.now()
        held = Connector.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
        connector = held.filter(pk=key, next_run_at__lte=now).first()
        if connector is None:
            return False
        connector.next_run_at = _next_run(connector.every_seconds, now)
        connector.save(update_fields=["next_run_at"])
        return _request(connector) is not None


def _request(connector: Connector, *, dry_run: bool = False) -> Job | None:
    job = Job(kind=Job.Kind.SYNC, connector=connector, collection_id=connector.collection_id, dry_run=dry_run)
    try:
        with transaction.atomic():
            if not request(job=job):
                return None
            _forget_old(connector)
    except IntegrityError:
        raise NotFound("The connector was deleted meanwhile.", code="connector_not_found") from None
    return job


def _forget_old(connector: Connector) -> None:
    ended = Job.objects.filter(connector=connector, finished_at__isnull=False).order_by("-created_at")
    Job.objects.filter(pk__in=list(ended.values_list("pk", flat=True)[JOBS_KEPT:])).delete()


def _checked_place(new: NewConnector, key: uuid.UUID) -> Place:
    if new.kind not in Connector.Kind.values:
        raise InvalidInput(f"kind: must be one of {', '.join(Connector.Kind.values)}.", code="invalid_connector")
    prefix = new.file_prefix
    if len(prefix) > MOST_PREFIX_CHARACTERS:
        raise InvalidInput(f"prefix: at most {MOST_PREFIX_CHARACTERS} characters.", code="invalid_connector")
    if new.kind == Connector.Kind.URLS:
        if new.location or new.branch:
            raise InvalidInput("A list of addresses has neither location nor branch.", code="invalid_connector")
        return Place(kind=new.kind, location=str(key), urls=_checked_urls(new.urls), prefix=prefix)
    if len(new.location.encode("utf-8", "ignore")) > MOST_LOCATION_BYTES:
        raise InvalidInput(f"location: at most {MOST_LOCATION_BYTES} bytes.", code="invalid_connector")
    if new.urls:
        raise InvalidInput("urls: only a connector of the kind 'urls' has them.", code="invalid_connector")
    if new.kind == Connector.Kind.GIT:
        return _checked_repository(new, prefix)
    if new.branch:
        raise InvalidInput("branch: a folder has none.", code="invalid_connector")
    place = Place(kind=new.kind, location=clean_text(new.location.strip()), prefix=prefix)
    check_allowed(place)
    return place


def _checked_repository(new: NewConnector, prefix: str) -> Place:
    branch = new.branch.strip()
    try:
        url = target_of(new.location).url
    except Unreadable as error:
        raise InvalidInput(f"location: {error.detail}", code=error.code) from None
    try:
        if branch:
            check_branch(branch)
    except Unreadable as error:
        raise InvalidInput(f"branch: {error.detail}", code=error.code) from None
    return Place(kind=new.kind, location=url, branch=branch, prefix=prefix)


def _checked_urls(urls: Sequence[str]) -> list[str]:
    given = [clean_text(url).strip() for url in urls if url.strip()]
    if not 1 <= len(given) <= MOST_URLS:
        raise InvalidInput(f"urls: send 1 to {MOST_URLS} addresses.", code="invalid_connector")
    for number, url in enumerate(given):
        try:
            name = target_of(url).url
        except Unreadable as error:
            raise InvalidInput(f"urls[{number}]: {error.detail}", code=error.code) from None
        if len(name) > MAX_SOURCE_BYTES:
            raise InvalidInput(
                f"urls[{number}]: longer than the {MAX_SOURCE_BYTES} bytes of a name.", code="invalid_url"
            )
    return given


def _next_run(every_seconds: int | None, after: datetime) -> datetime | None:
    return None if every_seconds is None else after + timedelta(seconds=every_seconds)


def _check_schedule(every_seconds: int | None) -> None:
    if every_seconds is not None and not SHORTEST <= every_seconds <= LONGEST:
        raise InvalidInput(
            f"every_seconds: must be {SHORTEST} to {LONGEST}, or null to run only when asked.", code="invalid_connector"
        )
