"""Making and running connectors of the collection `c`, as a user does."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from collections_app.models import Document
from core_app.config import AppSettings
from ingest_app.models import Item, Job
from ingest_app.work import run_job

ADDRESS = "/api/rag/collections/c/connectors"


def allow(settings: Any, *, sync_folders: tuple[str, ...] = (), networks: tuple[str, ...] = ("127.0.0.0/8",)) -> None:
    section = {"SyncFolders": sync_folders, "AllowedPrivateNetworks": networks}
    changed = AppSettings.model_validate({"Ingestion": section}).ingestion
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"ingestion": changed})


def make(client: Client, **body: Any) -> Any:
    return client.post(ADDRESS, json.dumps(body), "application/json")


def run(client: Client, connector: str, query: str = "") -> Job:
    """Ask for a run and work it off."""
    answer = client.post(f"{ADDRESS}/{connector}/run{query}")
    assert answer.status_code == 202, answer.json()
    return work_off(Job.objects.get(pk=answer.json()["id"]))


def work_off(job: Job) -> Job:
    run_job(job_id=job.pk, stopping=lambda: False)
    job.refresh_from_db()
    return job


def outcome(job: Job) -> tuple[str, dict[str, str], dict[str, Any]]:
    items = Item.objects.filter(job=job).values_list("source", "state")
    return job.state, dict(items), {key: (job.result or {}).get(key) for key in ("unchanged", "removed")}


def sources() -> list[str]:
    return list(Document.objects.order_by("source").values_list("source", flat=True))
