"""What the pages show beyond single rows: totals beside collections and jobs, neighbours of a chunk."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, DateTimeField, F, IntegerField, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Greatest

from access_app.patterns import named
from access_app.reach import EVERYTHING
from collections_app.models import Alias, Chunk, Collection, Document
from collections_app.selectors import CollectionSummary, with_chunk_totals
from ingest_app.itemless import UPKEEP
from ingest_app.models import Item, Job
from ingest_app.selectors import JobReport, list_jobs, reports


def with_totals(collections: QuerySet[Collection]) -> QuerySet[Collection]:
    """Each collection annotated with `chunk_total`, `document_total`, `failed_total` and `changed_at`.

    Documents are those that can be found; those that have failed and have no chunks are counted apart.
    `changed_at` is the later of its own last change and its documents': ingesting moves the latter only.
    """
    documents = Document.objects.filter(collection=OuterRef("pk")).order_by().values("collection")
    newest = Subquery(documents.annotate(at=Max("updated_at")).values("at"), output_field=DateTimeField())

    def counted(state: Document.State) -> Subquery:
        found = documents.filter(state=state).annotate(total=Count("pk"))
        return Subquery(found.values("total"), output_field=IntegerField())

    return with_chunk_totals(collections).annotate(
        document_total=Coalesce(counted(Document.State.READY), 0),
        failed_total=Coalesce(counted(Document.State.FAILED), 0),
        changed_at=Greatest("updated_at", Coalesce(newest, "updated_at")),
    )


def totals_of(collection: Collection) -> Any:
    """One collection with what `with_totals` counts."""
    return with_totals(Collection.objects.filter(pk=collection.pk).select_related("active_generation")).get()


def summary_of(counted: Any) -> CollectionSummary:
    """A collection that `totals_of` counted, with its other names."""
    aliases = list(Alias.objects.filter(collection=counted).values_list("name", flat=True))
    return CollectionSummary(collection=counted, count=counted.chunk_total, aliases=aliases)


def recent_collections(collections: QuerySet[Collection], *, limit: int) -> list[Collection]:
    """Those of these collections that changed last, with totals."""
    found = with_totals(collections.select_related("active_generation"))
    return list(found.order_by(F("changed_at").desc(), "name")[:limit])


def recent_jobs(
    *, limit: int, collection: Collection | None = None, patterns: frozenset[str] = EVERYTHING
) -> list[JobReport]:
    """The newest jobs with their counts; unfinished ones first, since they are what people wait for.

    Of all collections, of one, or of those whose names fit a pattern.
    Upkeep that went well is left out: nobody asked for it.
    """
    jobs = Job.objects.exclude(kind__in=UPKEEP, state=Job.State.SUCCEEDED)
    jobs = jobs.filter(named("collection__name", sorted(patterns)))
    if collection is not None:
        jobs = jobs.filter(collection=collection)
    newest = jobs.order_by("-created_at", "-id").values_list("pk", flat=True)
    # Choosing first and counting afterwards: items are counted for the few jobs shown, not for all.
    chosen = list(dict.fromkeys([*newest.filter(finished_at__isnull=True)[:limit], *newest[:limit]]))[:limit]
    found = reports(list_jobs().filter(pk__in=chosen))
    return sorted(found, key=lambda report: chosen.index(report.job.pk))


def with_item_totals(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """Each job annotated with `item_total`, `item_ended` and `item_failed`, counted for listed rows only."""

    def count(condition: Q) -> Coalesce:
        items = Item.objects.filter(condition, job=OuterRef("pk")).order_by().values("job")
        return Coalesce(Subquery(items.annotate(total=Count("pk")).values("total"), output_field=IntegerField()), 0)

    unfinished = Q(state__in=(Item.State.QUEUED, Item.State.RUNNING))
    return jobs.annotate(
        item_total=count(Q()), item_ended=count(~unfinished), item_failed=count(Q(state=Item.State.FAILED))
    )


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The chunks before and after one in its document."""

    before: Chunk | None
    after: Chunk | None


def neighbours(*, chunk: Chunk) -> Neighbours:
    """Found by ordinal; none for a chunk without a document."""
    if chunk.document_id is None or chunk.ordinal is None:
        return Neighbours(before=None, after=None)
    others = Chunk.objects.filter(document_id=chunk.document_id).defer("text", "metadata")
    return Neighbours(
        before=others.filter(ordinal__lt=chunk.ordinal).order_by("-ordinal").first(),
        after=others.filter(ordinal__gt=chunk.ordinal).order_by("ordinal").first(),
    )


def chunks_of_hits(keys: Set[tuple[str, str]]) -> dict[tuple[str, str], Chunk]:
    """Chunks by collection and by the id that searches return, in one statement, without their text."""
    names, ids = {name for name, _ in keys}, {external_id for _, external_id in keys}
    if not keys:
        return {}
    rows = Chunk.objects.filter(collection__name__in=names, external_id__in=ids).defer("text", "metadata")
    found = {(chunk.of, chunk.external_id): chunk for chunk in rows.annotate(of=F("collection__name"))}
    return {key: found[key] for key in keys if key in found}
