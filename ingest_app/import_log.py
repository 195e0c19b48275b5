"""What imports have changed, for the audit log. An entry is written in the transaction that ends the import."""

from __future__ import annotations

from collections.abc import Mapping

from access_app.acting import NOBODY, Door, acting
from access_app.audit import record, submitter_of
from collections_app.models import Collection
from ingest_app.models import Job


def record_import(*, collection_id: int, counts: Mapping[str, int]) -> None:
    """Note what an import stored and removed; nothing where that is nothing, or where the collection is gone."""
    collection = Collection.objects.filter(pk=collection_id).first() if any(counts.values()) else None
    if collection is not None:
        record("collection.imported", collection, after=counts)


def record_ended(*, job: Job) -> None:
    """Note what a job has committed by its end, however it ends; nothing for jobs of other kinds.

    It was done by who submitted the job, also where somebody else cancels it.
    """
    if job.kind != Job.Kind.IMPORT or not job.result or job.collection_id is None:
        return
    counts = {"documents": "documents_changed", "chunks": "stored", "removed": "removed"}
    with acting(door=Door.TASK, name=lambda: submitter_of(job) or NOBODY):
        record_import(
            collection_id=job.collection_id, counts={name: job.result.get(key, 0) for name, key in counts.items()}
        )
