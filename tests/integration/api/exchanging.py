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
    kind = "application/json"
    kept = {"name": "kept", "provider": "sqlite", "settings": {"file": "walk.db"}}
    assert client.post("/api/connections", kept, kind).status_code == 201
    client.post("/api/collections?service=kept", {"name": "held"}, kind)
    body = {"connection": "kept", "name_there": "held"}
    assert client.post(f"{there}&dry_run=true", body, kind).json()["chunks"] == 0
    assert client.post(there, body, kind).status_code == 202
