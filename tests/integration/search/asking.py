"""A collection with something in it, and settings for one test."""

from __future__ import annotations

from typing import Any

from collections_app.models import Collection
from collections_app.services import create_collection
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job

#: In no text, and in no line that is logged.
MARKER = "zyzzogeton"


def fill(name: str = "c", texts: tuple[str, ...] = ("The quick brown fox.", "A lazy dog sleeps.")) -> Collection:
    made = create_collection(name=name)
    sources = [Source(name=f"s{n}", content=text.encode(), is_text=True) for n, text in enumerate(texts)]
    run_job(job_id=submit(collection_name=name, sources=sources).pk, stopping=lambda: False)
    return made


def configure(settings: Any, section: str, **values: Any) -> None:
    """Change values of one section of the settings."""
    changed = getattr(settings.RAGSITE, section).model_copy(update=values)
    settings.RAGSITE = settings.RAGSITE.model_copy(update={section: changed})
