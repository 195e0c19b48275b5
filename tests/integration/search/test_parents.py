"""Small to find, big to show: a passage is found, its parent is the answer, and each parent answers once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from collections_app.adding import NewChunk, add_chunks
from collections_app.models import Chunk, Collection, DocumentText
from collections_app.removing import delete_chunks
from collections_app.services import create_collection
from core_app.wiring import store
from ingest_app.rechunking import set_chunking
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app import legs as both_legs
from search_app import services
from search_app.asking import Expansion
from search_app.clock import Clock
from search_app.results import Hit, SearchResult
from search_app.services import search
from search_app.showing import chosen
from tests.integration.ingest.filling import JSON, ingest, never

pytestmark = pytest.mark.django_db

#: Sixteen words a sentence, so that each is a passage; the last ones are found by their fruit. Characters of
#: two, three and four bytes stand before, so that offsets in bytes would show.
FRUITS = ("apple", "banana", "cherry", "damson", "elder", "fig")
FILLER = "and {} nothing else is said here about it while the sentence goes on to its end."
SENTENCES = ["Überall 漢字 👩‍👩‍👧‍👦 " + FILLER.format(fruit) for fruit in FRUITS]
GARDEN = "# Garden\n\n" + "\n\n".join(SENTENCES[:3]) + "\n\n## Trees\n\n" + "\n\n".join(SENTENCES[3:]) + "\n"
HEADER = "| Name | Born |\n| --- | --- |\n"


@pytest.fixture
def garden() -> Collection:
    made = create_collection(name="c")
    set_chunking(name="c", own={"size": 20, "overlap": 0, "parent_size": 60})
    ingest("c", GARDEN)
    return made


def look(query: str, **more: Any) -> SearchResult:
    return search(collection_name="c", query=query, **more)


def found(query: str) -> Hit:
    """What the words alone find first."""
    return look(query, legs="lexical").hits[0]


def passage(word: str) -> Chunk:
    return Chunk.objects.get(text__contains=word)


def test_the_answer_is_the_parent_and_says_what_was_found(garden: Collection) -> None:
    assert Chunk.objects.count() == 6
    hit = found("banana")
    chunk = passage("banana")
    text = DocumentText.objects.get().text
    assert hit.content == text[text.index("# Garden") : text.index("\n\n## Trees")]
    assert (hit.id, hit.matched, hit.metadata["chunk_index"]) == (chunk.external_id, chunk.text, chunk.ordinal)
    start, end = hit.matched_at or (0, 0)
    assert hit.content[start:end] == chunk.text == SENTENCES[1]


def test_passages_of_one_parent_are_one_result_in_the_place_of_the_best(garden: Collection) -> None:
    ranked = look("nothing else is said about a damson")
    assert [hit.content.split()[1] for hit in ranked.hits] == ["Trees", "Garden"]
    assert ranked.hits[0].id == passage("damson").external_id
    assert ranked.hits[0].metadata["rrf_score"] > ranked.hits[1].metadata["rrf_score"]
    assert ranked.hits[0].score == ranked.hits[0].metadata["similarity_score"]


@pytest.mark.parametrize("top_k", [1, 2, 3, 4, 5])
def test_further_passages_fill_the_places(garden: Collection, top_k: int) -> None:
    """The six passages of the garden come first; three more results are behind them."""
    sources = [Source(name=f"t{n}", content=f"Banana number {n}.".encode(), is_text=True) for n in range(3)]
    run_job(job_id=submit(collection_name="c", sources=sources).pk, stopping=never)
    hits = look("nothing else is said about it while the sentence goes banana", top_k=top_k).hits
    assert len(hits) == min(top_k, 5)
    assert len({hit.content for hit in hits}) == len(hits)
    # The first is the best of all, whatever was read after it.
    assert hits[0].metadata["rrf_score"] == max(hit.metadata["rrf_score"] for hit in hits)


def test_a_least_score_is_of_the_passage(garden: Collection) -> None:
    scores = sorted(hit.score for hit in look("banana cherry", top_k=10).hits)
    assert len(scores) == 2
    (best,) = look("banana cherry", top_k=10, min_score=scores[-1]).hits
    assert best.score == scores[-1]


def test_without_parents_a_search_asks_for_nothing_more() -> None:
    create_collection(name="c")
    set_chunking(name="c", own={"size": 20, "overlap": 0})
    ingest("c", GARDEN)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        (hit, *_) = look("banana", top_k=2).hits
    assert (hit.content, hit.matched) == (passage("banana").text, None)
    read = [query["sql"] for query in asked.captured_queries if "hidden.is_hidden" in query["sql"]]
    assert len(read) == 1
    assert not [query for query in asked.captured_queries if "documenttext" in query["sql"]]


def test_a_passage_that_is_its_own_parent_is_shown_as_any(garden: Collection) -> None:
    ingest("c", "A quince alone.")
    with CaptureQueriesContext(connection) as asked:
        hit = look("quince", legs="lexical", top_k=1).hits[0]
    assert (hit.content, hit.matched, hit.matched_at) == ("A quince alone.", None, None)
    assert passage("quince").parent_end is not None
    assert not [query for query in asked.captured_queries if "documenttext" in query["sql"]]


def test_rows_are_shown_with_the_header_of_their_table_once() -> None:
    create_collection(name="c")
    set_chunking(name="c", own={"size": 30, "overlap": 0, "parent_size": 70})
    ingest("c", "## People\n\n" + HEADER + "".join(f"| name{n} | {1000 + n} |\n" for n in range(60)))
    for row in (1, 15, 59):
        hit = found(f"name{row}")
        assert hit.matched is not None
        assert (hit.content.count(HEADER), hit.matched.count(HEADER)) == (1, 1)
        start, end = hit.matched_at or (0, 0)
        assert f"| name{row} |" in hit.content[start:end]
        assert hit.content[start:end] == hit.matched.removeprefix(HEADER)
        assert len(hit.content) > len(hit.matched) + len(HEADER)
    assert found("name1").content.startswith("## People\n\n" + HEADER)
    assert found("name59").content.startswith(HEADER + "| name")


def test_a_text_that_was_not_kept_leaves_the_passage(garden: Collection) -> None:
    DocumentText.objects.all().delete()
    assert (found("banana").content, found("banana").matched) == (SENTENCES[1], None)


class TestChangedOverTheStorageApi:
    def change(self, client: Client, **body: Any) -> None:
        numbers = [float(n % 7) for n in range(256)]
        address = f"/collections/c/documents/{passage('banana').external_id}"
        answer = client.patch(address, {"embedding": numbers, **body}, JSON)
        assert answer.status_code == 200, answer.content

    def test_a_replaced_text_stands_alone_and_the_old_one_is_shown_nowhere(
        self, garden: Collection, client: Client
    ) -> None:
        self.change(client, text="A pawpaw.")
        assert (found("pawpaw").content, found("pawpaw").matched) == ("A pawpaw.", None)
        assert found("apple").content == "# Garden\n\n" + SENTENCES[0]
        assert found("fig").matched == SENTENCES[5], "other parents stay"
        assert not [hit for hit in look("nothing is said", top_k=100).hits if "banana" in hit.content]

    @pytest.mark.parametrize("body", [{}, {"text": SENTENCES[1]}])
    def test_a_replaced_embedding_keeps_the_parent(
        self, garden: Collection, client: Client, body: dict[str, str]
    ) -> None:
        key = passage("banana").pk
        self.change(client, **body)
        assert passage("banana").pk != key
        assert [found(word).matched for word in ("banana", "cherry")] == SENTENCES[1:3]

    def test_a_deleted_passage_is_not_shown_around_its_neighbours(self, garden: Collection) -> None:
        delete_chunks(collection_name="c", ids=[passage("banana").external_id])
        assert found("cherry").content == SENTENCES[2]
        assert not [hit for hit in look("nothing is said", top_k=100).hits if "banana" in hit.content]

    def test_a_passage_that_is_added_in_its_place_belongs_to_no_document(self, garden: Collection) -> None:
        given = NewChunk(external_id=passage("banana").external_id, text="A pawpaw.", metadata={})
        add_chunks(collection_name="c", chunks=[given], embeddings=lambda: np.ones((1, 256), np.float32))
        assert (found("pawpaw").content, found("cherry").content) == ("A pawpaw.", SENTENCES[2])

    def test_metadata_alone_changes_nothing_about_what_is_shown(self, garden: Collection, client: Client) -> None:
        address = f"/collections/c/documents/{passage('banana').external_id}"
        assert client.patch(address, {"metadata": {"mine": 1}}, JSON).status_code == 200
        assert (found("banana").matched, found("banana").metadata["mine"]) == (SENTENCES[1], 1)


def test_over_http_each_result_says_what_was_found(garden: Collection, client: Client) -> None:
    ingest("c", GARDEN, "A quince alone.")
    answer = client.post("/api/rag/collections/c/search", {"query": "banana quince", "top_k": 10}, JSON).json()
    matched = {result["matched"]: result["content"] for result in answer["results"]}
    assert matched[None] == "A quince alone."
    assert matched[SENTENCES[1]].startswith("# Garden\n\n")
    assert answer["count"] == len(answer["results"]) == 3


def test_the_command_prints_what_was_found(garden: Collection, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("search", "c", "cherry", top_k=1)
    assert "cherry" in capsys.readouterr().out


@pytest.mark.parametrize("parent", [(5, None), (None, 5), (-1, 5), (5, 5)])
def test_half_a_parent_is_none(garden: Collection, parent: tuple[int | None, int | None]) -> None:
    with pytest.raises(IntegrityError, match="chunk_parent"), transaction.atomic():
        Chunk.objects.update(parent_start=parent[0], parent_end=parent[1])


def test_the_migration_reads_no_row_of_old() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT convalidated FROM pg_constraint WHERE conname = 'chunk_parent'")
        assert cursor.fetchall() == [(False,)]
        cursor.execute(
            "SELECT count(*) FROM pg_constraint WHERE conrelid = 'collections_chunk'::regclass AND contype = 'c'"
            " AND pg_get_constraintdef(oid) LIKE '%parent%'"
        )
        assert cursor.fetchone() == (1,)


PLUMS = 130


@pytest.fixture
def orchard(db: None) -> None:
    """One parent of more passages than a leg is asked for, all better than the three documents behind them."""
    create_collection(name="c")
    set_chunking(name="c", own={"size": 16, "overlap": 0, "parent_size": 8192})
    text = "# Plum\n\n" + "\n\n".join(f"Plum plum plum, and number {n} is nothing but a plum." for n in range(PLUMS))
    ingest("c", text, *(f"A longer text that says {word} and then names a plum." for word in ("one", "two", "three")))


@pytest.mark.parametrize("legs", ["lexical", "dense", "hybrid"])
def test_there_are_fewer_results_only_where_fewer_exist(orchard: None, legs: Any) -> None:
    (parents,) = Chunk.objects.filter(document__source="s0").values_list("parent_start", "parent_end").distinct()
    assert parents is not None
    assert Chunk.objects.count() > PLUMS
    found = look("plum", top_k=4, legs=legs)
    assert {hit.metadata["source"] for hit in found.hits} == {"s0", "s1", "s2", "s3"}
    assert [warning.code for warning in found.warnings] == []


def test_the_numbers_of_a_deeper_look_add_up(orchard: None) -> None:
    found = look("plum", top_k=4, explain=True)
    for hit in found.hits:
        about = hit.explanation
        assert about is not None
        assert about.dense.share + about.lexical.share == pytest.approx(about.score)
    assert found.hits[0].explanation is not None
    assert found.hits[0].explanation.rank == 1


def test_grouped_passages_leave_their_places_to_other_documents(orchard: None) -> None:
    found = look("plum", top_k=4, group_size=2, expand=Expansion.parse("window:1"))
    assert len({hit.metadata["source"] for hit in found.hits}) == 4


def test_a_look_that_found_enough_or_all_is_the_only_one(orchard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    depths: list[int] = []

    def seen(looking: Any, findings: Any, clock: Any) -> None:
        depths.append(looking.depth)
        both_legs.look(looking, findings, clock)

    monkeypatch.setattr(services, "look", seen)
    look("plum", top_k=1)
    look("two", top_k=4, legs="lexical")
    assert depths == [100, 100]
    nearest = look("plum", top_k=1, legs="dense").hits[0].score
    depths.clear()
    assert len(look("plum", top_k=4, min_score=nearest).hits) == 1
    assert depths == [100], "what comes after is less similar still"
    look("plum", top_k=4)
    assert depths == [100, 100, 1000]


def test_where_it_looks_no_deeper_it_says_so(orchard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "DEEPEST", 110)
    found = look("plum", top_k=4)
    assert (len(found.hits), [warning.code for warning in found.warnings]) == (1, ["candidates_cut"])


def test_c_req_001_it_looks_no_deeper_when_the_time_is_over(orchard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clock, "seconds_left", property(lambda _: 0.0))
    found = look("plum", top_k=4)
    assert (len(found.hits), [warning.code for warning in found.warnings]) == (1, ["depth_cut"])


@pytest.mark.parametrize("leg", ["lexical", "dense"])
def test_what_goes_wrong_deeper_costs_nothing_of_what_was_found(
    orchard: None, monkeypatch: pytest.MonkeyPatch, leg: str
) -> None:
    plain = look("plum", top_k=1)
    original = getattr(store("pgvector"), leg)

    def failing(**asked: Any) -> Any:
        if asked["limit"] > 100:
            raise ValueError("no such thing")
        return original(**asked)

    monkeypatch.setattr(store("pgvector"), leg, failing)
    found = look("plum", top_k=4)
    assert ([hit.id for hit in found.hits], [warning.code for warning in found.warnings]) == (
        [hit.id for hit in plain.hits],
        ["depth_cut"],
    )
    assert found.hits[0].metadata["rrf_score"] == plain.hits[0].metadata["rrf_score"]


def test_a_database_that_fails_deeper_costs_nothing_of_what_was_found(
    orchard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def failing(**asked: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        return chosen(**asked)

    monkeypatch.setattr("search_app.services.chosen", failing)
    found = look("plum", top_k=4)
    assert (len(found.hits), [warning.code for warning in found.warnings]) == (1, ["depth_cut"])


@pytest.mark.parametrize("asked", [{"legs": "lexical"}, {"legs": "dense"}, {"min_score": 0.0}, {}], ids=str)
def test_c_req_001_a_deeper_look_that_takes_too_long_is_given_up(
    orchard: None, settings: Any, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    section = settings.RAGSITE.search.model_copy(update={"cut_at_budget": True})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"search": section})
    monkeypatch.setattr(Clock, "seconds_left", property(lambda _: 0.5))
    for leg in ("lexical", "dense"):
        original = getattr(store("pgvector"), leg)

        def slow(original: Any = original, **given: Any) -> Any:
            if given["limit"] > 100:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_sleep(25)")
            return original(**given)

        monkeypatch.setattr(store("pgvector"), leg, slow)
    found = look("plum", top_k=4, mode="fast", **asked)
    assert (len(found.hits), [warning.code for warning in found.warnings]) == (1, ["depth_cut"])


def test_c_req_001_passages_are_read_on_only_while_there_is_time(
    orchard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = look("plum", top_k=4)
    monkeypatch.setattr(Clock, "seconds_left", property(lambda _: 0.0))
    found = look("plum", top_k=4)
    assert 1 <= len(found.hits) < len(whole.hits)
    assert "depth_cut" in {warning.code for warning in found.warnings}
