"""The query log: who searched what, by which door, and that it never stands in a search's way."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any, NoReturn

import psycopg
import pytest
import structlog
from django.core.management import call_command
from django.db import DatabaseError, OperationalError, connection
from django.test import Client

from access_app.models import User
from access_app.services import create_key
from collections_app.models import Collection
from collections_app.services import delete_collection
from core_app.errors import InvalidInput, NotFound
from core_app.sql import migration_sql
from core_app.where import parse_where
from core_app.wiring import store
from search_app import legs, query_log
from search_app.asking import SearchRequest
from search_app.masking import hashed
from search_app.models import QueryLog
from search_app.results import SearchResult
from search_app.services import RAW_QUERY, search, search_collections
from tests.integration.search.asked import break_call
from tests.integration.search.asking import MARKER, configure, fill

pytestmark = pytest.mark.django_db

JSON = "application/json"


@pytest.fixture
def collection(db: None) -> Collection:
    return fill()


def raising(error: Exception) -> Any:
    def broken(*_: Any, **__: Any) -> NoReturn:
        raise error

    return broken


def the_row() -> QueryLog:
    return QueryLog.objects.get()


def key_header(name: str) -> dict[str, str]:
    _, secret = create_key(name=name, verbs=["search"], collections=["*"])
    return {"Authorization": f"Bearer {secret}"}


class TestDoors:
    """Each says who asks."""

    def test_the_service(self, collection: Collection) -> None:
        structlog.contextvars.clear_contextvars()
        search(collection_name="c", query="fox")
        assert the_row().asked_by == "server"
        assert the_row().request_id == ""

    def test_rest_with_a_key(self, collection: Collection, client: Client) -> None:
        headers = {**key_header("shop"), "X-Request-Id": "r-17"}
        answer = client.post("/api/rag/collections/c/search", {"query": "fox"}, JSON, headers=headers)
        assert answer.status_code == 200
        assert (the_row().asked_by, the_row().request_id) == ("shop", "r-17")
        assert the_row().results == [["c", hit["id"]] for hit in answer.json()["results"]]

    def test_rest_without_one(self, collection: Collection, client: Client) -> None:
        answer = client.post("/api/rag/collections/c/search", {"query": "fox"}, JSON)
        assert (the_row().asked_by, the_row().request_id) == ("local", answer["X-Request-Id"])

    def test_rest_over_several_collections(self, collection: Collection, client: Client) -> None:
        fill("d", ("A red fox.",))
        asked = {"query": "fox", "collections": ["c", "d"]}
        answer = client.post("/api/rag/search", asked, JSON, headers=key_header("shop"))
        assert answer.status_code == 200
        assert (the_row().asked_by, the_row().collections) == ("shop", ["c", "d"])
        assert {name for name, _ in the_row().results} == {"c", "d"}

    def test_the_short_form(self, collection: Collection, client: Client) -> None:
        assert client.get("/knowledge/c/search?q=fox", headers=key_header("agent")).status_code == 200
        assert the_row().asked_by == "agent"

    def test_the_console(self, collection: Collection) -> None:
        client = Client(headers={"host": "127.0.0.1"})
        client.force_login(User.objects.create(username="jo", is_staff=True, is_superuser=True))
        page = client.get("/admin/collections/collection/query/?collection=c&query=fox&top_k=5")
        assert page.status_code == 200
        assert the_row().asked_by == "jo"
        assert the_row().request_id == page["X-Request-Id"]

    def test_the_command_line(self, collection: Collection) -> None:
        call_command("search", "c", "fox")
        assert the_row().asked_by == "command line"

    @pytest.mark.parametrize("path", ["/api/rag/collections/c/search", "/api/rag/search"])
    def test_nobody_chooses_their_own_name(self, collection: Collection, client: Client, path: str) -> None:
        asked = {"query": "fox", "asked_by": "somebody"} | ({} if "collections" in path else {"collections": ["c"]})
        assert client.post(path, asked, JSON).status_code == 400
        assert not QueryLog.objects.exists()


class TestWhatIsKept:
    def test_how_it_was_answered(self, collection: Collection) -> None:
        where = parse_where({"source": {"$ne": "nothing"}})
        found = search(collection_name="c", query="fox", mode="fast", top_k=7, where=where)
        row = the_row()
        assert (row.mode, row.fusion, row.query_strategy) == ("fast", found.fusion, RAW_QUERY)
        assert (row.top_k, row.filtered) == (7, True)
        assert row.result_count == len(found.hits) == 2
        assert row.results == [[hit.collection, hit.id] for hit in found.hits]
        assert row.took_ms == found.took_ms
        assert {"words", "embedding", "meaning", "fusion", "passages"} <= set(row.stages_ms)
        assert all(took >= 0 for took in row.stages_ms.values())
        assert (row.status, row.error, row.warnings) == ("ok", "", [])

    def test_at_most_so_many_results(self, collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(query_log, "MOST_RESULTS", 1)
        found = search(collection_name="c", query="fox")
        assert the_row().result_count == len(found.hits) == 2
        assert the_row().results == [["c", found.hits[0].id]]

    def test_codes_of_warnings(self, collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(**_: Any) -> Any:
            raise RuntimeError("no words today")

        monkeypatch.setattr(store("pgvector"), "lexical", broken)
        search(collection_name="c", query="fox")
        assert (the_row().status, the_row().warnings) == ("degraded", ["lexical_search_failed"])

    def test_what_is_always_so_is_no_fault(self, collection: Collection) -> None:
        search(collection_name="c", query="fox", mode="thorough")
        assert (the_row().status, the_row().warnings) == ("ok", ["no_reranker"])

    def test_a_search_that_found_nothing(self, collection: Collection) -> None:
        search(collection_name="c", query=MARKER, legs="lexical")
        assert (the_row().result_count, the_row().results, the_row().filtered) == (0, [], False)

    def test_the_topic_where_it_was_searched_for(self, collection: Collection, settings: Any) -> None:
        configure(settings, "search", query_log="plain")
        search(collection_name="c", query="and it?", topic=" brown  foxes ")
        assert the_row().text == "brown foxes"

    def test_a_limit_beyond_any_number_of_the_database(self, collection: Collection) -> None:
        assert search(collection_name="c", query="fox", top_k=-(10**30)).hits
        assert the_row().top_k == -(2**63 - 1)

    def test_searches_that_fail_say_why(self, collection: Collection, settings: Any) -> None:
        configure(settings, "search", query_log="plain")
        with pytest.raises(NotFound):
            search(collection_name="missing", query="fox", mode="fast", asked_by="shop")
        row = the_row()
        assert (row.status, row.error, row.collections) == ("failed", "collection_not_found", ["missing"])
        assert (row.text, row.asked_by, row.mode, row.fusion) == ("fox", "shop", "fast", "")
        assert (row.result_count, row.results, row.warnings, row.top_k) == (0, [], [], 5)
        assert row.took_ms > 0

    def test_what_no_caller_could_mend_is_an_error_of_the_server(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("lexical", "dense"):
            break_call(monkeypatch, name)
        with pytest.raises(DatabaseError):
            search(collection_name="c", query="fox", top_k=7)
        row = the_row()
        assert (row.status, row.error, row.filtered, row.top_k) == ("failed", "database_unavailable", False, 7)
        assert "words" in row.stages_ms

    def test_meaning_alone_without_an_embedder(
        self, collection: Collection, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(**_: Any) -> Any:
            raise RuntimeError("no model today")

        monkeypatch.setattr(legs, "embed_query", broken)
        asked = {"query": "fox", "legs": "dense"}
        assert client.post("/api/rag/collections/c/search", asked, JSON, headers=key_header("shop")).status_code == 503
        assert (the_row().status, the_row().error, the_row().asked_by) == ("failed", "embedder_unavailable", "shop")

    def test_a_filter_that_cannot_be_used(self, collection: Collection) -> None:
        with pytest.raises(InvalidInput):
            search(collection_name="c", query="fox", where=parse_where({"source": {"$regex": "("}}))
        assert not QueryLog.objects.exists(), "what is refused before it begins is no search"

    def test_a_name_that_no_collection_can_have(self, collection: Collection) -> None:
        with pytest.raises(InvalidInput):
            search(collection_name="a/\x00" + "b" * 600, query="fox")
        (name,) = the_row().collections
        assert (len(name), name[:3]) == (query_log.LONGEST_NAME, "a/b")
        with pytest.raises(InvalidInput):
            search_collections(collection_names=[], query="fox")
        assert QueryLog.objects.count() == 1

    def test_0002_says_of_old_rows_what_they_are(self, collection: Collection) -> None:
        kept: tuple[list[str], ...] = (
            ["lexical_search_failed", "no_reranker"],
            ["no_reranker", "no_embedder"],
            [],
            ["embedding_cut"],
        )
        for codes in kept:
            search(collection_name="c", query="fox")
            QueryLog.objects.filter(pk=QueryLog.objects.latest("pk").pk).update(warnings=codes, status="ok")
        with connection.cursor() as cursor:
            cursor.execute(migration_sql("search_app", "0002_status"))
        found = QueryLog.objects.order_by("pk").values_list("status", flat=True)
        assert list(found) == ["degraded", "ok", "ok", "degraded"]

    def test_it_outlives_the_collection_and_the_key(self, collection: Collection, client: Client) -> None:
        client.post("/api/rag/collections/c/search", {"query": "fox"}, JSON, headers=key_header("shop"))
        delete_collection(name="c")
        assert (the_row().asked_by, the_row().collections) == ("shop", ["c"])


class TestTheText:
    """REQ-RAG-SEC-004"""

    QUERY = 'Who wrote "my diary" to jo@example.org in 2026?'

    def kept(self, settings: Any, form: str) -> list[tuple[str, str]]:
        configure(settings, "search", query_log=form)
        search(collection_name="c", query=f"  {self.QUERY}")
        return list(QueryLog.objects.values_list("text_form", "text"))

    def test_it_is_hashed_unless_somebody_says_otherwise(self, collection: Collection, settings: Any) -> None:
        assert settings.RAGSITE.search.query_log == "hashed"
        search(collection_name="c", query=self.QUERY)
        assert (the_row().text_form, the_row().text) == ("hashed", hashed(self.QUERY))

    def test_off(self, collection: Collection, settings: Any) -> None:
        assert self.kept(settings, "off") == []

    def test_masked(self, collection: Collection, settings: Any) -> None:
        assert self.kept(settings, "masked") == [("masked", "Who wrote [quoted] to [email] in [number]?")]

    def test_plain(self, collection: Collection, settings: Any) -> None:
        assert self.kept(settings, "plain") == [("plain", self.QUERY)]

    def test_what_the_database_could_not_store(self, collection: Collection, settings: Any) -> None:
        configure(settings, "search", query_log="plain")
        nothing = SearchResult(
            hits=[],
            mode="fast",
            fusion="rrf",
            query_strategy=RAW_QUERY,
            reranker="none",
            reranked=0,
            warnings=[],
            took_ms=1.0,
            facets={},
        )
        text = "a\x00b\ud800 " + "c" * 5000
        query_log.remember(
            request=SearchRequest(query=text), text=text, collections=[collection.name], result=nothing, stages=[]
        )
        assert the_row().text == "ab " + "c" * (query_log.LONGEST_TEXT - 3)


class TestNeverInTheWay:
    def test_an_error_is_logged_without_the_text(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(row: object) -> None:
            raise RuntimeError(f"cannot write {MARKER}")

        monkeypatch.setattr(query_log, "_write", broken)
        assert search(collection_name="c", query=f"fox {MARKER}").hits
        (line,) = [record for record in caplog.records if record.name == query_log.__name__]
        assert line.levelno == logging.ERROR
        assert vars(line)["error"] == "RuntimeError"
        assert MARKER not in caplog.text
        assert not QueryLog.objects.exists()

    def test_a_table_that_is_gone(self, collection: Collection, caplog: pytest.LogCaptureFixture) -> None:
        """Within a transaction of the caller's, which goes on."""
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE search_querylog RENAME TO elsewhere")
        for _ in range(2):
            assert search(collection_name="c", query=f"fox {MARKER}").hits
        lines = [record for record in caplog.records if record.name == query_log.__name__]
        assert [vars(line)["sqlstate"] for line in lines] == ["42P01", "42P01"]
        assert MARKER not in caplog.text

    def test_no_connection_is_waited_for_twice(self, collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        """A pool that gave none to the search gives none to the log, after as long a wait."""
        written: list[Any] = []
        monkeypatch.setattr(query_log, "_write", written.append)
        monkeypatch.setattr("search_app.services._answer", raising(OperationalError("couldn't get a connection")))
        for at_hand in (None, object()):
            monkeypatch.setattr(query_log, "connection", SimpleNamespace(connection=at_hand))
            with pytest.raises(OperationalError):
                search(collection_name="c", query="fox")
        assert len(written) == 1

    @pytest.mark.django_db(transaction=True)
    def test_a_table_that_is_locked_is_given_up_soon(self, caplog: pytest.LogCaptureFixture) -> None:
        fill()
        with psycopg.connect(**connection.get_connection_params()) as other:
            other.execute("LOCK TABLE search_querylog IN ACCESS EXCLUSIVE MODE")
            assert search(collection_name="c", query="fox").hits
        (line,) = [record for record in caplog.records if record.name == query_log.__name__]
        assert vars(line)["sqlstate"] == "57014"
        search(collection_name="c", query="fox")
        assert QueryLog.objects.count() == 1
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            assert cursor.fetchone() == ("0",), "the bound ends with its transaction"

    def test_a_transaction_of_the_callers_keeps_its_own_bounds(self, collection: Collection) -> None:
        search(collection_name="c", query="fox")
        with connection.cursor() as cursor:
            cursor.execute("SHOW synchronous_commit")
            assert cursor.fetchone() == ("on",)
        assert QueryLog.objects.count() == 1
