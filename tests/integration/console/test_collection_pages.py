"""A collection's settings, its metadata with what saving would do, and what it can do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from collections_app import cloning
from collections_app.describing import LONGEST_DESCRIPTION, describe_collection, metadata_changes
from collections_app.embedding import has_made_vectors
from collections_app.models import Alias, Chunk, Collection, Generation
from core_app.errors import InvalidInput, Unavailable
from core_app.wiring import embedder
from ingest_app.models import Job
from search_app import capabilities as asked
from search_app.capabilities import capabilities
from search_app.models import TestCase
from tests.integration.console.conftest import Login, Rows

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\u202e"


def page(rows: Rows, part: str) -> str:
    return f"/admin/collections/collection/{rows.collection.pk}/{part}/"


def generation(collection: Collection, *, connection: str | None, model: str | None) -> None:
    made = Generation.objects.create(
        collection=collection, dimension=2, distance="cosine", embedding_connection=connection, embedding_model=model
    )
    collection.active_generation = made
    collection.save()


class TestMetadata:
    @pytest.mark.parametrize(
        ("sent", "merge", "kinds"),
        [
            ({"a": 1}, False, {}),
            ({"a": 1.0}, False, {}),
            ({"a": True}, False, {"a": "changed"}),
            ({}, False, {"a": "removed"}),
            ({}, True, {}),
            ({"b": None}, True, {"b": "added"}),
            ({"a": None, "b": 2}, False, {"a": "changed", "b": "added"}),
        ],
    )
    def test_what_would_change(self, sent: dict[str, Any], merge: bool, kinds: dict[str, str]) -> None:
        changes = metadata_changes(before={"a": 1}, sent=sent, merge=merge)
        assert {change.key: change.kind for change in changes} == kinds

    def test_true_within_a_list_is_not_one(self) -> None:
        (change,) = metadata_changes(before={"a": [{"b": [1]}]}, sent={"a": [{"b": [True]}]})
        assert change.kind == "changed"
        assert metadata_changes(before={"a": [{"b": [1]}]}, sent={"a": [{"b": [1]}]}) == ()

    @pytest.mark.parametrize("merge", [False, True])
    def test_what_is_shown_is_what_saving_does(self, root: Client, rows: Rows, merge: bool) -> None:
        before = {"keep": 1, "old": "x"}
        Collection.objects.update(metadata=before)
        sent = {"metadata": '{"old": "y", "new": null}', **({"merge": "on"} if merge else {})}
        shown = root.post(page(rows, "metadata"), sent).content.decode()
        assert Collection.objects.get().metadata == before  # a look changes nothing
        assert root.post(page(rows, "change"), sent).status_code == 302
        after = Collection.objects.get().metadata
        assert after == ({"keep": 1, "old": "y", "new": None} if merge else {"old": "y", "new": None})
        assert ('data-change="removed"' in shown) is ("keep" not in after)
        assert 'data-change="changed"' in shown
        assert 'data-change="added"' in shown

    @pytest.mark.parametrize("wrong", ["{", "[1]", '{"a": NaN}', '{"a": "\\u0000"}'])
    def test_the_servers_answer_decides(self, root: Client, rows: Rows, wrong: str) -> None:
        shown = root.post(page(rows, "metadata"), {"metadata": wrong}).content.decode()
        assert 'class="rs-bad"' in shown
        assert "<table" not in shown

    def test_keys_and_values_show_as_text(self, root: Client, rows: Rows) -> None:
        Collection.objects.update(metadata={HOSTILE: HOSTILE})
        shown = root.post(page(rows, "metadata"), {"metadata": "{}"}).content.decode()
        assert "<script" not in shown
        assert shown.count("&lt;script&gt;") == 2

    def test_looking_takes_the_permission_to_change(self, login: Login, rows: Rows) -> None:
        viewer = login("collections.view_collection")
        assert viewer.post(page(rows, "metadata"), {"metadata": "{}"}).status_code == 403
        editor = login("collections.view_collection", "collections.change_collection")
        assert editor.post(page(rows, "metadata"), {"metadata": "{}"}).status_code == 200
        assert editor.get(page(rows, "metadata")).status_code == 405


class TestSettings:
    SENT = {"name": "handbook", "description": "", "aliases": "", "mode": "", "fusion": ""}

    def test_all_of_them_are_saved(self, root: Client, rows: Rows) -> None:
        sent = {
            "name": "manual",
            "keep_alias": "on",
            "aliases": "guide\n\n how-to \n",
            "description": "  For new staff. ",
            "mode": "fast",
            "fusion": "calibrated",
            "lexical_weight": "0.25",
            "min_score": "0",
        }
        assert root.post(page(rows, "settings"), sent).status_code == 302
        changed = Collection.objects.get()
        assert changed.name == "manual"
        assert set(Alias.objects.values_list("name", flat=True)) == {"guide", "how-to", "handbook"}
        assert changed.search == {"mode": "fast", "fusion": "calibrated", "lexical_weight": 0.25, "min_score": 0.0}
        assert changed.metadata == {**rows.collection.metadata, "description": "For new staff."}
        shown = root.get(page(rows, "change")).content.decode()
        assert '<p class="rs-wrap" dir="auto">For new staff.</p>' in shown
        again = root.get(page(rows, "settings")).content.decode()
        assert "how-to" in again
        assert 'value="0.25"' in again

    def test_saving_what_is_there_writes_nothing(self, root: Client, rows: Rows) -> None:
        assert root.post(page(rows, "settings"), self.SENT).status_code == 302
        assert Collection.objects.get().version == rows.collection.version

    def test_empty_ones_are_the_servers_again(self, root: Client, rows: Rows) -> None:
        Collection.objects.update(search={"mode": "fast", "min_score": 0.5}, metadata={"description": "x", "a": 1})
        root.post(page(rows, "settings"), self.SENT)
        changed = Collection.objects.get()
        assert (changed.search, changed.metadata) == ({}, {"a": 1})

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ({"name": "taken"}, "already exists"),
            ({"name": "a/b"}, "no slash"),
            ({"aliases": "taken"}, "already exists"),
            ({"min_score": "2"}, "less than or equal to 1"),
            ({"mode": "warp"}, "not one of the available choices"),
        ],
    )
    def test_all_or_nothing(self, root: Client, rows: Rows, wrong: dict[str, str], says: str) -> None:
        Collection.objects.create(name="taken", store="pgvector")
        answer = root.post(page(rows, "settings"), {**self.SENT, "description": "new", "mode": "fast", **wrong})
        assert answer.status_code == 200
        assert says in answer.content.decode()
        left = Collection.objects.get(pk=rows.collection.pk)
        assert (left.search, left.metadata, left.name) == ({}, rows.collection.metadata, "handbook")

    def test_a_viewer_sees_them_and_cannot_save(self, login: Login, rows: Rows) -> None:
        viewer = login("collections.view_collection")
        assert "Save settings" not in viewer.get(page(rows, "settings")).content.decode()
        assert viewer.post(page(rows, "settings"), self.SENT).status_code == 403

    def test_a_description_has_an_end(self, rows: Rows) -> None:
        with pytest.raises(InvalidInput):
            describe_collection(name="handbook", description="x" * (LONGEST_DESCRIPTION + 1))


def test_only_the_pages_that_show_totals_count_them(root: Client, rows: Rows) -> None:
    def counts(part: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert root.get(page(rows, part) if part else "/admin/collections/collection/").status_code == 200
        return sum('COUNT(U0."id") AS "total"' in found["sql"] for found in captured)

    assert [counts(part) for part in ("", "change", "delete")] == [1, 1, 1]
    assert [counts(part) for part in ("settings", "clone", "coverage", "chunking", "language", "fields")] == [0] * 6


class TestCopies:
    def test_a_copy_is_made_and_opened(self, root: Client, rows: Rows) -> None:
        made = Collection.objects.create(name="empty", store="pgvector")
        there = f"/admin/collections/collection/{made.pk}/clone/"
        assert 'value="empty-copy"' in root.get(there).content.decode()
        answer = root.post(there, {"name": "second"})
        copy = Collection.objects.get(name="second")
        assert answer["Location"] == f"/admin/collections/collection/{copy.pk}/change/"
        again = root.post(there, {"name": "second"})
        assert "already exists" in again.content.decode()

    def test_what_cannot_be_copied_says_why(self, root: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
        refused = root.post(page(rows, "clone"), {"name": "second"}).content.decode()
        assert "have no vectors" in refused

    def test_a_large_one_is_copied_by_a_job(self, root: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "so a job copies it" not in root.get(page(rows, "clone")).content.decode()
        monkeypatch.setattr(cloning, "MOST_CHUNKS", 0)
        assert "so a job copies it" in root.get(page(rows, "clone")).content.decode()
        answer = root.post(page(rows, "clone"), {"name": "second", "filters": "on"})
        job = Job.objects.get(kind="copy")
        assert answer["Location"] == f"/admin/ingest/job/{job.pk}/change/"
        assert job.options is not None
        assert (job.collection, job.options["name"]) == (rows.collection, "second")
        assert (job.options["filters"], job.options["test_cases"]) == (True, False)
        assert not Collection.objects.filter(name="second").exists()
        assert "Another job makes" in root.post(page(rows, "clone"), {"name": "second"}).content.decode()

    def test_test_cases_go_along_for_whoever_sees_them(self, login: Login, root: Client, rows: Rows) -> None:
        assert "Copy its test cases" in root.get(page(rows, "clone")).content.decode()
        needed = [
            f"collections.{what}" for what in ("view_collection", "add_collection", "view_document", "view_chunk")
        ]
        blind = login(*needed)
        assert "Copy its test cases" not in blind.get(page(rows, "clone")).content.decode()
        Chunk.objects.all().delete()
        assert blind.post(page(rows, "clone"), {"name": "second", "test_cases": "on"}).status_code == 302
        assert not TestCase.objects.filter(collection__name="second").exists()
        root.post(page(rows, "clone"), {"name": "third", "test_cases": "on"})
        assert TestCase.objects.filter(collection__name="third").count() == 1


class TestCapabilities:
    def test_of_an_empty_collection(self, rows: Rows) -> None:
        can = capabilities(rows.collection)
        assert (can.embedding.is_there, can.semantic_search.is_there) == (True, False)

    def test_of_the_servers_model(self, rows: Rows) -> None:
        generation(rows.collection, connection=embedder().connection, model=embedder().model)
        can = capabilities(rows.collection)
        assert can.embedding.is_there
        assert can.semantic_search.is_there
        assert rows.collection.active_generation is not None
        assert has_made_vectors(embedder(), rows.collection.active_generation)

    @pytest.mark.parametrize("model", [None, "another/model"])
    def test_of_vectors_that_are_not_the_servers(self, root: Client, rows: Rows, model: str | None) -> None:
        generation(rows.collection, connection=model and "x", model=model)
        can = capabilities(rows.collection)
        assert not can.embedding.is_there
        assert can.semantic_search == can.embedding
        assert rows.collection.active_generation is not None
        assert not has_made_vectors(embedder(), rows.collection.active_generation)
        shown = root.get(page(rows, "change")).content.decode()
        assert 'aria-disabled="true" tabindex="0"' in shown
        assert "/admin/ingest/job/add/?collection" not in shown
        assert can.embedding.reason.split("`")[0].split("'")[0] in shown

    def test_settings_of_meaning_cannot_be_changed_without_it(self, root: Client, rows: Rows) -> None:
        generation(rows.collection, connection=None, model=None)
        shown = root.get(page(rows, "settings")).content.decode()
        assert shown.count(" disabled") >= 3
        root.post(page(rows, "settings"), {**TestSettings.SENT, "mode": "fast", "min_score": "0.5"})
        assert Collection.objects.get().search == {"mode": "fast"}

    def test_of_rerankers(self, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
        can = capabilities(rows.collection)
        assert not can.cross_encoder.is_there
        assert not can.of_mode("thorough").is_there
        assert can.of_mode("fast").is_there
        assert can.of_mode("balanced").is_there  # it expects none
        monkeypatch.setattr(asked, "chat_model", lambda: SimpleNamespace(model="m"))
        assert capabilities(rows.collection).of_mode("thorough").is_there

        def broken() -> None:
            raise Unavailable("It cannot be loaded.")

        monkeypatch.setattr(asked, "pair_scorer", broken)
        assert capabilities(rows.collection).cross_encoder.reason == "It cannot be loaded."
