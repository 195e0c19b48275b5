"""The console in another language than English; what programs read stays as it is."""

from __future__ import annotations

import datetime
import struct
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone, translation

from console_app.connector_forms import schedule_in_words
from console_app.progress import progress_of
from console_app.templatetags.console import ago, moment, thousands
from ingest_app.models import Item, Job
from ingest_app.selectors import list_jobs, reports
from tests.integration.console.conftest import Rows

pytestmark = pytest.mark.django_db

GERMAN = {"Accept-Language": "de"}
WORDS = {
    "": "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n",
    "Nothing here": "Hier ist nichts",
    "Keep it": "Behalten",
    "%(shown)s document\0%(shown)s documents": "%(shown)s Dokument\0%(shown)s Dokumente",
}


@pytest.fixture
def german(settings: LazySettings, tmp_path: Path) -> None:
    """German is offered, in Django's own words and these."""
    folder = tmp_path / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "django.mo").write_bytes(compiled(WORDS))
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    settings.LOCALE_PATHS = [tmp_path]


def compiled(words: dict[str, str]) -> bytes:
    """What `compilemessages` makes, without gettext's programs: two tables of lengths and places, then the strings."""
    pairs = sorted((said.encode(), meant.encode()) for said, meant in words.items())
    tables, strings, at = b"", b"", 28 + 16 * len(pairs)
    for column in (0, 1):
        for pair in pairs:
            tables += struct.pack("<2I", len(pair[column]), at + len(strings))
            strings += pair[column] + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, at) + tables + strings


@pytest.mark.usefixtures("german")
class TestALanguageThatIsOffered:
    def test_the_browser_chooses_it_for_the_console(self, root: Client, rows: Rows) -> None:
        gone = root.get("/admin/nowhere/", headers=GERMAN)
        assert "<h1>Hier ist nichts</h1>" in gone.content.decode()
        assert '<html lang="de">' in gone.content.decode()
        page = root.get(f"/admin/collections/collection/{rows.collection.pk}/delete/", headers=GERMAN)
        assert ">Behalten<" in page.content.decode()
        assert "1 Dokument," in page.content.decode()
        assert page["Content-Language"] == "de"
        assert "Accept-Language" in page["Vary"]

    def test_whoever_asks_for_none_gets_english(self, root: Client) -> None:
        page = root.get("/admin/nowhere/")
        assert b"<h1>Nothing here</h1>" in page.content
        assert page["Content-Language"] == "en"

    def test_it_does_not_reach_the_next_request(self, root: Client) -> None:
        root.get("/admin/", headers=GERMAN)
        assert translation.get_language() == "en"

    def test_dates_and_numbers_follow_it(self) -> None:
        at = datetime.datetime(2026, 3, 1, 15, 4, tzinfo=datetime.UTC)
        assert (thousands(1_234_567), moment(at)) == ("1,234,567", "March 1, 2026, 3:04 p.m. UTC")
        with translation.override("de"):
            assert (thousands(1_234_567), moment(at)) == ("1.234.567", "1. März 2026 15:04 UTC")
            assert ago(timezone.now() - datetime.timedelta(days=3)) == "3\xa0Tage her"

    @pytest.mark.parametrize("path", ["/collections", "/health/live", "/collections/nowhere"])
    def test_the_api_knows_nothing_of_it(self, root: Client, rows: Rows, path: str) -> None:
        plain, asked = root.get(path), root.get(path, headers=GERMAN)
        assert asked.json() == plain.json()
        for answer in (plain, asked):
            assert "Content-Language" not in answer
            assert "Accept-Language" not in answer.get("Vary", "")

    def test_what_the_api_refuses_is_said_in_english(self, root: Client) -> None:
        sent = {"metadata": 5}
        answers = [
            root.post("/collections", sent, content_type="application/json", headers=headers).content
            for headers in (GERMAN, {})
        ]
        assert answers[0] == answers[1]
        assert b"required" in answers[0]


def test_the_api_s_numbers_are_numbers(root: Client, rows: Rows) -> None:
    Job.objects.filter(pk=rows.job.pk).update(result={"count_deleted": 12_345})
    told = root.get(f"/api/rag/jobs/{rows.job.pk}").json()
    assert 12_345 in (told.get("result") or {}).values()


def test_the_limits_of_an_upload_are_numbers_for_the_script(root: Client) -> None:
    page = root.get("/admin/ingest/job/add/").content.decode()
    assert 'data-max-file-bytes="' in page
    limits = page.split('data-max-file-bytes="')[1].split('"')[0]
    assert limits.isdigit()
    assert len(limits) > 3


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "Only when asked"),
        (900, "Every 15 minutes"),
        (3600, "Every hour"),
        (60, "Every minute"),
        (120, "Every 2 minutes"),
        (90, "Every 90 seconds"),
        (90_000 * 60, "Every 90,000 minutes"),
    ],
)
def test_schedules_in_words(seconds: int | None, words: str) -> None:
    assert schedule_in_words(seconds) == words


def test_how_long_ago() -> None:
    now = timezone.now()
    assert ago(now) == "just now"
    assert ago(now - datetime.timedelta(minutes=3, seconds=5)) == "3\xa0minutes ago"


def said(job: Job) -> str:
    return progress_of(next(iter(reports(list_jobs().filter(pk=job.pk))))).sentence


@pytest.mark.parametrize(
    ("states", "job", "sentence"),
    [
        (["queued"], {"state": "queued"}, "1 file waiting for a worker."),
        (["queued", "queued"], {"state": "queued"}, "2 files waiting for a worker."),
        (["succeeded", "queued"], {"state": "running"}, "1 of 2 files done."),
        (["queued"], {"state": "running"}, "0 of 1 file done."),
        (
            ["succeeded", "queued"],
            {"state": "queued", "next_try_at": datetime.datetime(2026, 3, 1, 15, 4, 5, tzinfo=datetime.UTC)},
            "1 of 2 files done; the rest is tried again at 15:04:05 UTC.",
        ),
        (
            ["succeeded", "skipped", "failed", "cancelled"],
            {"state": "partial", "finished_at": timezone.now()},
            "4 files: 1 indexed, 1 unchanged, 1 failed, 1 cancelled.",
        ),
    ],
)
def test_a_job_in_words(rows: Rows, states: list[str], job: dict[str, object], sentence: str) -> None:
    made = Job.objects.create(collection=rows.collection, **job)
    for ordinal, state in enumerate(states):
        Item.objects.create(job=made, ordinal=ordinal, source=f"{ordinal}.md", state=state, size_bytes=1)
    assert said(made) == sentence
