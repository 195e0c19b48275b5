"""What connectors read from elsewhere: repositories, pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from collections_app.models import Document
from ingest_app.models import Item
from tests.integration.ingest.connecting import ADDRESS, allow, make, run, sources
from tests.unit.ingest.origins.repositories import commit, make_repository, serving_git
from tests.unit.ingest.origins.servers import Server, not_found, serving

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]


class TestGit:
    @pytest.fixture
    def server(self, tmp_path: Path) -> Iterator[Server]:
        make_repository(tmp_path / "git" / "guide", {"README.md": b"# Guide\n\nRead me.", "deep/more.txt": b"More."})
        with serving_git(tmp_path / "git") as server:
            yield server

    def test_a_repository(self, client: Client, server: Server, tmp_path: Path) -> None:
        made = make(client, kind="git", location=f"{server.url}/guide/.git", prefix="guide/", remove_vanished=True)
        key = made.json()["id"]
        first = run(client, key)
        assert first.state == "succeeded", first.error
        assert sources() == ["guide/README.md", "guide/deep/more.txt"]
        (tmp_path / "git" / "guide" / "deep" / "more.txt").unlink()
        head = commit(tmp_path / "git" / "guide", {"new.md": b"New."})
        again = run(client, key)
        assert again.result == {"unchanged": 1, "vanished": 1, "removed": 1, "revision": head}
        assert sources() == ["guide/README.md", "guide/new.md"]

    def test_its_name_is_the_prefix(self, client: Client) -> None:
        made = make(client, kind="git", location="https://example.org/team/guide.git")
        assert made.json()["prefix"] == "guide/"

    def test_one_that_is_not_there(self, client: Client, server: Server) -> None:
        job = run(client, make(client, kind="git", location=f"{server.url}/nothing.git").json()["id"])
        assert (job.state, job.code) == ("failed", "git_failed")

    def test_a_private_address_is_not_asked(self, client: Client, server: Server, settings: Any) -> None:
        allow(settings, networks=())
        job = run(client, make(client, kind="git", location=f"{server.url}/guide/.git").json()["id"])
        assert (job.state, job.code, server.seen) == ("failed", "private_address", [])


class TestUrls:
    @pytest.fixture
    def server(self) -> Iterator[Server]:
        page = b"<!DOCTYPE html><html><head><title>Tea</title></head><body><h1>Tea</h1><p>Oolong.</p></body></html>"
        answers = {
            "/tea.php": lambda call: call.send(page),
            "/notes.md": lambda call: call.send(b"# Notes\n\nGreen tea."),
            "/missing": not_found,
        }
        with serving(answers) as server:
            yield server

    def test_each_address_is_a_file_with_its_own_outcome(self, client: Client, server: Server) -> None:
        urls = [f"{server.url}/tea.php?x=1", f"{server.url}/notes.md", f"{server.url}/missing"]
        key = make(client, kind="urls", urls=urls).json()["id"]
        job = run(client, key)
        assert job.state == "partial"
        assert sources() == sorted(urls[:2])
        assert Document.objects.get(source=urls[0]).media_type == "text/html"
        failed = Item.objects.get(job=job, state="failed")
        assert (failed.source, failed.code) == (urls[2], "fetch_failed")
        assert "404" in failed.error
        assert (run(client, key).result or {})["unchanged"] == 2

    def test_what_is_taken_off_the_list_goes(self, client: Client, server: Server) -> None:
        urls = [f"{server.url}/tea.php", f"{server.url}/notes.md"]
        key = make(client, kind="urls", urls=urls, remove_vanished=True).json()["id"]
        run(client, key)
        changed = client.patch(f"{ADDRESS}/{key}", json.dumps({"urls": urls[:1]}), "application/json")
        assert changed.status_code == 200, changed.json()
        assert run(client, key).result == {"unchanged": 1, "vanished": 1, "removed": 1}
        assert sources() == urls[:1]

    def test_a_page_that_is_away_keeps_its_document(self, client: Client, server: Server) -> None:
        key = make(client, kind="urls", urls=[f"{server.url}/notes.md"], remove_vanished=True).json()["id"]
        run(client, key)
        server.answers = {}
        assert run(client, key).state == "failed"
        assert sources() == [f"{server.url}/notes.md"]

    def test_private_addresses_are_not_asked(self, client: Client, server: Server, settings: Any) -> None:
        allow(settings, networks=())
        job = run(client, make(client, kind="urls", urls=[f"{server.url}/notes.md", "http://[::1]/"]).json()["id"])
        assert set(Item.objects.filter(job=job).values_list("code", flat=True)) == {"private_address"}
        assert server.seen == []
