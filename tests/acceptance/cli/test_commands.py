"""Commands against a real database: what they print, and errors as sentences instead of traces."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from access_app.models import ApiKey
from access_app.services import authenticate
from collections_app.models import Collection, Document
from collections_app.services import create_collection
from ingest_app.models import Job
from tests.acceptance.cli.running import output_of, refused

pytestmark = pytest.mark.django_db

GUIDE = "# Guide\n\n## Baking\n\nFeed the starter with rye flour every morning.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    (root / "deep").mkdir(parents=True)
    (root / ".hidden").mkdir()
    (root / "guide.md").write_text(GUIDE)
    (root / "deep" / "tea.txt").write_text("Oolong is a tea.")
    (root / ".hidden" / "secret.md").write_text("not for the index")
    return root


def test_a_key_is_printed_once_and_works() -> None:
    command = ["create_api_key", "my app", "--verb", "search", "--verb", "read", "--collection", "team-*"]
    secret = output_of(*command).strip()
    caller = authenticate(presented=secret)
    assert (caller.name, caller.verbs, caller.collections) == ("my app", frozenset({"search", "read"}), ("team-*",))
    assert ApiKey.objects.get().expires_at is None


def test_a_key_can_expire() -> None:
    output_of("create_api_key", "app", "--verb", "read", "--collection", "*", "--days", "7")
    expires_at = ApiKey.objects.get().expires_at
    assert expires_at is not None
    assert timedelta(days=6) < expires_at - timezone.now() <= timedelta(days=7)


@pytest.mark.parametrize(
    "arguments",
    [
        ["app", "--verb", "fly", "--collection", "*"],
        ["app", "--collection", "*"],
        ["app", "--verb", "read"],
        ["app", "--verb", "read", "--collection", ""],
        ["", "--verb", "read", "--collection", "*"],
        ["x" * 201, "--verb", "read", "--collection", "*"],
        ["app", "--verb", "read", "--collection", "x" * 513],
        *[["app", "--verb", "read", "--collection", "*", "--days", days] for days in ("0", "-1", "x", "999999999999")],
    ],
)
def test_a_key_that_makes_no_sense_is_refused(arguments: list[str]) -> None:
    assert refused("create_api_key", *arguments)
    assert not ApiKey.objects.exists()


def test_ingest_makes_the_collection_and_search_finds_the_passage(worker: None, folder: Path) -> None:
    printed = output_of("ingest", "guides", str(folder), "--metadata", '{"team": "home"}')
    assert "2 indexed (2 chunks), 0 unchanged, 0 failed" in printed
    assert sorted(Document.objects.values_list("source", flat=True)) == ["deep/tea.txt", "guide.md"]
    found = output_of("search", "guides", "rye flour")
    first, text, *_rest, last = found.splitlines()
    assert first.startswith("1. 0.")
    assert first.endswith("guide.md, Baking")
    assert "Feed the starter with rye flour every morning." in text
    assert last.startswith("2 passages in ")
    assert output_of("search", "guides", "rye flour", "--top-k", "1").splitlines()[-1].startswith("1 passage in ")
    assert output_of("search", "guides", "rye flour", "--min-score", "1").startswith("0 passages in ")


def test_the_language_is_said_when_the_collection_is_made(worker: None, folder: Path) -> None:
    (folder / "katze.md").write_text("Zwei Katzen schlafen.")
    output_of("ingest", "guides", str(folder), "--language", "german")
    assert "katze.md" in output_of("search", "guides", "Katze", "--top-k", "1")
    assert Collection.objects.get(name="guides").language == "german"
    output_of("sync", "others", str(folder), "--language", "simple")
    assert Collection.objects.get(name="others").language == "simple"
    assert "are in german" in refused("ingest", "guides", str(folder), "--language", "english")
    assert "german" in refused("ingest", "more", str(folder), "--language", "klingon")
    assert not Collection.objects.filter(name="more").exists()


def test_what_a_terminal_would_obey_is_not_printed(worker: None, folder: Path) -> None:
    (folder / "\x1b[31mred.md").write_text("Rye \x1b]0;title\x07 bread")
    output_of("ingest", "guides", str(folder))
    found = output_of("search", "guides", "rye bread")
    assert "red.md" in found
    assert all(line.isprintable() for line in found.splitlines())


def test_a_second_ingest_changes_nothing(worker: None, folder: Path) -> None:
    output_of("ingest", "guides", str(folder))
    assert "0 indexed (0 chunks), 2 unchanged, 0 failed" in output_of("ingest", "guides", str(folder))


def test_one_bad_file_is_explained_and_the_others_are_indexed(worker: None, folder: Path) -> None:
    (folder / "empty.md").touch()
    written = io.StringIO()
    with pytest.raises(CommandError, match="Not all could be indexed"):
        call_command("ingest", "guides", str(folder), stdout=written, stderr=written)
    assert "empty.md " in written.getvalue()
    assert " empty_file  The file is empty" in written.getvalue()
    assert "2 indexed (2 chunks), 0 unchanged, 1 failed" in written.getvalue()
    assert "1. " in output_of("search", "guides", "oolong")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["guides", "/no/such/file"], "/no/such/file: no such file or folder."),
        (["a/b", "{folder}"], "A collection's name has"),
        (["guides", "{folder}", "--metadata", "{"], "--metadata must be a JSON object."),
        (["guides", "{folder}", "--metadata", "[]"], "--metadata must be a JSON object."),
        (["guides", "{folder}", "--metadata", '{"a": NaN}'], "--metadata must be a JSON object."),
    ],
)
def test_ingest_refuses_what_it_cannot_do(folder: Path, arguments: list[str], sentence: str) -> None:
    given = [argument.replace("{folder}", str(folder)) for argument in arguments]
    assert refused("ingest", *given).startswith(sentence)
    assert not Collection.objects.exists()


def test_ingest_into_vectors_of_somebody_else_is_refused(folder: Path) -> None:
    collection = create_collection(name="guides")
    generation = collection.generations.create(dimension=3, distance="cosine")
    Collection.objects.filter(pk=collection.pk).update(active_generation=generation)
    assert "has no embedding model" in refused("ingest", "guides", str(folder))


def test_an_interrupt_cancels_the_job(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ingest_app.watching.time", SimpleNamespace(sleep=interrupt))
    assert refused("ingest", "guides", str(folder)) == "Cancelled before all was done."
    assert Job.objects.get().state == Job.State.CANCELLED


def test_search_says_what_is_missing() -> None:
    assert refused("search", "nowhere", "tea") == "Collection 'nowhere' not found"


def test_the_demo_is_loaded_once(worker: None, settings: Any, tmp_path: Path) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "README.md").write_text("# Read me\n\nRagsite finds passages.")
    (tmp_path / "docs" / "deep" / "life.md").write_text("# Life of a query\n\nIt is embedded first.")
    output_of("load_demo")
    assert sorted(Document.objects.values_list("source", flat=True)) == ["README.md", "docs/deep/life.md"]
    assert output_of("search", "demo", "embedded first").splitlines()[0].endswith("  docs/deep/life.md")
    before = list(Job.objects.values_list("pk", flat=True))
    assert output_of("load_demo") == ""
    assert list(Job.objects.values_list("pk", flat=True)) == before


def test_a_demo_without_documents_makes_no_collection(settings: Any, tmp_path: Path) -> None:
    settings.BASE_DIR = tmp_path
    output_of("load_demo")
    assert not Collection.objects.exists()


def test_the_first_staff_user_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAGSITE_ADMIN_PASSWORD", raising=False)
    printed = output_of("ensure_admin")
    user = get_user_model().objects.get()
    password = printed.split("password ")[1].split(" ")[0]
    assert user.get_username() == "admin"
    assert user.is_superuser
    assert user.check_password(password)
    assert output_of("ensure_admin") == ""


def test_a_given_password_is_used_and_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGSITE_ADMIN_PASSWORD", "hunter2-hunter2")
    assert "hunter2" not in output_of("ensure_admin")
    assert get_user_model().objects.get().check_password("hunter2-hunter2")


def test_the_configuration_page_is_compared(settings: Any, tmp_path: Path) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs").mkdir()
    assert "out of date" in refused("config_reference", "--check")
    output_of("config_reference")
    output_of("config_reference", "--check")
    page = tmp_path / "docs" / "configuration.md"
    assert "| `Candidates` | integer (at least 10, at most 2000) | `100` |" in page.read_text()
    page.write_text(page.read_text() + "more")
    assert "out of date" in refused("config_reference", "--check")
