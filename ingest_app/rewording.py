"""Changing the language of a collection's words: indexed anew beside the old ones, which serve until all are there.

New words come in the order of the chunks' ids, and chunks that are added meanwhile have larger ones: what the new
language lacks is always what comes after its last chunk. So nothing is remembered beside the index itself, writers need
not know of the change, and whoever goes on after a crash goes on there. The last step brings the rest and changes the
language, in one transaction under the collection's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from access_app.audit import record
from collections_app.context import indexed_text
from collections_app.models import Chunk, Collection
from collections_app.selectors import get_collection, get_held
from collections_app.services import CollectionGone, check_language, lock_collection, touch
from core_app.wiring import store
from ingest_app import maintenance
from ingest_app.dispatching import request
from ingest_app.emptying import RECLAIM_FROM
from ingest_app.itemless import succeed, tell
from ingest_app.leases import CancelledError, Heartbeat, Lease, hold
from ingest_app.models import Job

#: Other writers wait for one step: about a second. What needs no more than one is done by the call itself.
CHUNKS_AT_ONCE, CHARACTERS_AT_ONCE = 1000, 4_000_000


@dataclass(frozen=True, kw_only=True)
class LanguageState:
    """The language that a collection's words are searched in, and the one they are to have."""

    language: str
    #: None where it is that one.
    wanted: str | None
    #: What can be chosen.
    known: Sequence[str]
    #: The job that indexes them anew, where one is on its way.
    job: Job | None


@dataclass(frozen=True, kw_only=True)
class _Step:
    chunks: int
    is_last: bool


def language_state(*, name: str) -> LanguageState:
    """The language of a collection's words. Raises NotFound."""
    collection = get_collection(name=name)
    return LanguageState(
        language=collection.language,
        wanted=collection.wanted_language or None,
        known=store(collection.store).languages,
        job=Job.objects.filter(collection=collection, kind=Job.Kind.REWORD, finished_at__isnull=True).first(),
    )


def set_language(*, name: str, language: str) -> LanguageState:
    """Have a collection's words in this language; the one it has gives up a change that is on its way.

    Few words are indexed at once, more by a job: searches use the old language until the last is there. Raises
    NotFound, and InvalidInput for a language that is not known.
    """
    with transaction.atomic():
        collection = lock_collection(collection_id=get_held(name=name).pk)
        check_language(language, provider=collection.store)
        before = {"language": collection.wanted_language or collection.language}
        record("collection.language_changed", collection, before=before, after={"language": language})
        collection.wanted_language = "" if language == collection.language else language
        collection.save(update_fields=["wanted_language", "updated_at"])
        if not _advance(collection).is_last:
            # One that is on its way sees the new language by itself.
            request(job=Job(kind=Job.Kind.REWORD, collection=collection))
    return language_state(name=name)


def run(lease: Lease, heartbeat: Heartbeat) -> None:
    """The work of a job of the kind `reword`, towards whatever language is wanted by now."""
    try:
        _work(lease, heartbeat)
    except CancelledError:
        _forget_unfinished(lease)
        raise


def _work(lease: Lease, heartbeat: Heartbeat) -> None:
    told: str | None = None
    while True:
        told = _tell(lease, told)
        with transaction.atomic():
            collection = lock_collection(collection_id=lease.collection_id)
            job = hold(lease=lease)
            if job.cancel_requested:
                raise CancelledError
            step = _advance(collection)
            job.done += step.chunks
            if step.is_last:
                # In one transaction: whoever changes the language finds this job at work, or ended.
                succeed(job=job, result={"language": collection.language})
                return
            job.save(update_fields=["done"])
        heartbeat.check()
        while maintenance.compact(collection_id=lease.collection_id):
            heartbeat.check()


def _tell(lease: Lease, told: str | None) -> str:
    """Say what is done and how far it is, where it is another language than the one of which that was `told`."""
    collection = Collection.objects.filter(pk=lease.collection_id).first()
    if collection is None:
        raise CollectionGone
    wanted = collection.wanted_language
    if wanted != told:
        chunks = Chunk.objects.filter(collection=collection, disabled_at__isnull=True)
        last = store(collection.store).reworded(collection_id=collection.pk, language=wanted)
        done, total = chunks.filter(pk__lte=last).count(), chunks.count()
        tell(lease=lease, step=f"Indexing words: {wanted or collection.language}.", done=done, total=total)
    return wanted


def _advance(collection: Collection) -> _Step:
    """Index some words in the wanted language; with the last of them it is the collection's. Needs the write lock."""
    held, wanted = store(collection.store), collection.wanted_language
    _forget(collection, but={collection.language, wanted})
    if not wanted:
        return _Step(chunks=0, is_last=True)
    texts, is_last = _texts(collection, after=held.reworded(collection_id=collection.pk, language=wanted))
    held.reword(collection_id=collection.pk, language=wanted, texts=texts)
    if is_last:
        _switch(collection)
    return _Step(chunks=len(texts), is_last=is_last)


def _texts(collection: Collection, *, after: int) -> tuple[dict[int, str], bool]:
    """Of the next chunks by their ids, and whether they are the last."""
    texts: dict[int, str] = {}
    characters = 0
    enabled = Chunk.objects.select_related("document").filter(collection=collection, disabled_at__isnull=True)
    rest = enabled.filter(pk__gt=after).order_by("pk")
    for chunk in rest.iterator(chunk_size=100):
        if len(texts) >= CHUNKS_AT_ONCE or characters >= CHARACTERS_AT_ONCE:
            return texts, False
        texts[chunk.pk] = indexed_text(chunk)
        characters += len(texts[chunk.pk])
    return texts, True


def _switch(collection: Collection) -> None:
    collection.language, collection.wanted_language = collection.wanted_language, ""
    collection.save(update_fields=["language", "wanted_language", "updated_at"])
    _forget(collection, but={collection.language})
    touch(collection=collection)


def _forget(collection: Collection, *, but: set[str]) -> None:
    """Take the words of all other languages out; where they are many, their space is given back by a job."""
    forgotten = store(collection.store).forget_words(collection_id=collection.pk, keep=but)
    if forgotten >= RECLAIM_FROM:
        maintenance.request_reclaim(collection=collection)


def _forget_unfinished(lease: Lease) -> None:
    """What a job that was stopped has done is found by no search; tried again, it begins anew."""
    with transaction.atomic():
        collection = lock_collection(collection_id=lease.collection_id)
        hold(lease=lease)
        _forget(collection, but={collection.language})
