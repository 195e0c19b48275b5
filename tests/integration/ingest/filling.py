"""Collections with something in them, and jobs that are interrupted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
from django.test import Client
from django.utils import timezone

from collections_app.adding import NewChunk, add_chunks
from collections_app.models import Chunk
from ingest_app.models import Item, Job
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job

JSON = "application/json"


class WorkerDied(BaseException):
    """Stands for a kill: nothing catches it, nothing is tidied up."""


def never() -> bool:
    return False


def expire(job: Job) -> None:
    """As if its holder had fallen silent."""
    Job.objects.filter(pk=job.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def work_off(job: Job) -> Job:
    """Work on a job as often as it takes, without waiting for when its next try is due."""
    for _ in range(20):
        now = timezone.now()
        Job.objects.filter(pk=job.pk, next_try_at__isnull=False).update(next_try_at=now)
        Item.objects.filter(job=job, next_try_at__isnull=False).update(next_try_at=now)
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        if job.finished_at is not None:
            return job
    raise AssertionError("the job does not end")


def fill(name: str, count: int, *, first: int = 0, dimension: int = 3) -> None:
    """Chunks with vectors of their callers' making: `Passage 0.`, `Passage 1.`, ..."""
    numbers = range(first, first + count)
    chunks = [NewChunk(external_id=f"d{n}", text=f"Passage {n}.", metadata={"n": n}) for n in numbers]
    vectors = np.random.default_rng(first).standard_normal((count, dimension)).astype(np.float32)
    add_chunks(collection_name=name, chunks=chunks, embeddings=lambda: vectors)


def ingest(name: str, *texts: str) -> Job:
    """Documents `s0`, `s1`, ... of these texts, embedded by the server."""
    sources = [Source(name=f"s{n}", content=text.encode(), is_text=True) for n, text in enumerate(texts)]
    job = submit(collection_name=name, sources=sources)
    run_job(job_id=job.pk, stopping=never)
    return job


def held(name: str) -> int:
    """How many chunks the collection has."""
    return Chunk.objects.filter(collection__name=name).count()


def empty(client: Client, name: str, query: str = "", **headers: Any) -> Any:
    """The answer to `DELETE /collections/NAME/documents/all`."""
    return client.delete(f"/collections/{name}/documents/all{query}", headers={"host": "127.0.0.1", **headers})
