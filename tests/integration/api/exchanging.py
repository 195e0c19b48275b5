"""The part of the contract's walk that is about exports and imports."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client


def walk_exchange(client: Client) -> None:
    """A collection written out, and read again under another name."""
    lines = b"".join(client.get("/api/rag/collections/docs/export?vectors=false"))
    there = "/api/rag/collections/again/import?create=true"
    checked = client.generic("POST", f"{there}&dry_run=true", lines, "application/x-ndjson").json()
    done = client.post(there, {"file": SimpleUploadedFile("docs.jsonl", lines)}).json()
    assert (checked["status"], done["status"], checked["chunks"]["new"]) == (
        "checked",
        "imported",
        done["chunks"]["new"],
    )
    bad = client.generic("POST", f"{there}&dry_run=true", lines.replace(b'"text":', b'"tex":'), "application/x-ndjson")
    assert "unknown field" in bad.json()["refusals"][0]["reason"]
    there = "/api/rag/collections/fetched/import/connection?create=true"
    assert client.post(there, {"connection": "nowhere"}, "application/json").status_code == 404
