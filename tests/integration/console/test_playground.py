"""The playground: two ways to search side by side, reasons that add up, and what is copied and saved from it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from collections_app.models import Chunk
from collections_app.services import create_collection
from search_app.judging import Judged
from search_app.models import Judgement, TestCase, TestRun
from search_app.testcases import save_case
from search_app.testruns import MOST_IN_REQUEST
from tests.integration.console.conftest import Login
from tests.integration.search.asked import JSON, filled

pytestmark = pytest.mark.django_db

PATH = "/admin/collections/collection/query/"
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202egnp"
TEXTS = {
    "a": "The fox hunts at night, and the fox sleeps by day.",
    "b": "A hunt for a fox.",
    "c": "A case of a name.",
    HOSTILE: f"Night falls. {HOSTILE}",
}


@pytest.fixture(autouse=True)
def collection(db: None) -> None:
    filled("animals", TEXTS, metadata={name: {"letter": name, HOSTILE: HOSTILE} for name in TEXTS})


def shown(client: Client, **data: Any) -> str:
    answer = client.get(PATH, {"collection": "animals", "query": "fox night", **data})
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    return text


def passage(source: str) -> str:
    return Chunk.objects.get(document__source=source).external_id


def judged_numbers(page: str) -> dict[str, str]:
    """Number of each passage that can be judged, by its id."""
    found = re.findall(r'<input type="hidden" name="id-(\d+)" value="([^"]+)" form="judging">', page)
    return {unescape(external_id): number for number, external_id in found}


def code(page: str, what: str) -> str:
    (text,) = re.findall(rf'<pre tabindex="0" id="{what}" dir="ltr">(.*?)</pre>', page, re.DOTALL)
    return unescape(text)


class TestSearching:
    def test_a_passage_shows_its_scores_and_what_adds_up(self, root: Client) -> None:
        page = shown(root, fusion="calibrated", lexical_weight="0.25")
        assert "<dt>Weight of words</dt><dd>0.25</dd>" in page
        for row in ("meaning", "words", "term", "total", "stage"):
            assert f"pg-bars__row--{row}" in page
        rows = re.findall(r'pg-bars__row--(\w+)">.*?<span class="rs-number">([\d.]+)(?: ms)?</span>', page, re.DOTALL)
        first = dict(reversed(rows[: [kind for kind, _ in rows].index("total") + 1]))
        assert float(first["meaning"]) + float(first["words"]) == pytest.approx(float(first["total"]), abs=2e-4)
        assert "searched for: first message (raw query)" in page

    def test_a_topic_is_searched_for_and_said(self, root: Client) -> None:
        assert "searched for: follow-up (contextualized topic)" in shown(root, topic="case name")

    def test_several_collections_as_one(self, root: Client) -> None:
        filled("plants", {"oak": "The fox sits under an oak at night."})
        page = shown(root, collection=["animals", "plants"], legs="lexical")
        assert "<bdi>plants</bdi> · " in page
        assert "A test case belongs to one collection." in page
        assert '{"collections": ["animals", "plants"]' in code(page, "curl-A")

    def test_mistakes_stand_beside_their_fields(self, root: Client) -> None:
        assert "less than or equal to 1" in shown(root, lexical_weight="2")
        assert "must be valid JSON" in shown(root, compare="on", **{"b-where": "{"})
        assert "must be valid JSON" not in shown(root, **{"b-where": "{"}), "B is not searched"
        answer = root.get(PATH, {"query": "x"})
        assert "Choose at least one collection." in answer.content.decode()

    def test_why_it_is_empty_is_drawn(self, root: Client) -> None:
        page = shown(root, where=json.dumps({"letter": "z"}))
        assert "No passage passes the filter." in page
        assert '<rect class="pg-bar__left" x="0" y="0" width="100.00" height="10">' in page
        assert '<rect class="pg-bar__left" x="0" y="0" width="0.00" height="10">' in page
        assert "<bdi>&quot;letter&quot; is &quot;z&quot;</bdi>" in page

    def test_where_is_my_passage(self, root: Client) -> None:
        page = shown(root, missed="c", where=json.dumps({"letter": "a"}))
        assert "<strong>The filter leaves it out: &quot;letter&quot; is &quot;a&quot;.</strong>" in page
        assert passage("c") in page
        assert "No passage has this id and no document this source" in shown(root, missed=HOSTILE + "x")
        assert "It is result 1." in shown(root, missed="a")

    def test_what_fails_is_a_sentence(self, root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(**_: Any) -> Any:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")

        monkeypatch.setattr("console_app.query.search_collections", broken)
        assert "The database cannot be reached or refused the request." in shown(root)


class TestComparing:
    def test_what_moved_is_said_in_words(self, root: Client) -> None:
        page = shown(root, compare="on", legs="lexical", top_k="3", **{"b-legs": "dense", "b-top_k": "2"})
        assert re.search(r'id="moved">From A to B: [^<]*gone[^<]*\.', page)
        assert page.count('class="pg-side"') == 2
        assert "pg-move--gone" in page
        assert "rs-note--bad" not in page

    def test_the_same_twice_moves_nothing(self, root: Client) -> None:
        page = shown(root, compare="on")
        assert "From A to B: 4 in the same place." in page
        assert page.count("Judged beside, in A") == 4, "each passage is judged once"
        assert len(judged_numbers(page)) == 4

    def test_one_address_holds_both(self, root: Client) -> None:
        page = shown(root, compare="on", mode="fast", **{"b-mode": "thorough", "b-lexical_weight": "0.9"})
        assert re.search(r'<option value="fast" selected>', page)
        assert re.search(r'<option value="thorough" selected>', page)
        assert 'name="b-lexical_weight" value="0.9"' in page


class TestCopying:
    def test_python_that_was_copied_finds_the_same(self, root: Client, client: Client) -> None:
        query = f"fox 'night' \"$HOME\" {HOSTILE}"
        where = json.dumps({"letter": {"$in": ["a", HOSTILE]}})
        page = shown(root, query=query, where=where, top_k="3", min_score="0", fusion="rrf", expand="window:1")
        sent: list[tuple[str, bytes, dict[str, str]]] = []

        class Answer:
            def __enter__(self) -> Any:
                url, data, _ = sent[0]
                answer = client.post(urlsplit(url).path, data, JSON, headers={"host": "127.0.0.1"})
                assert answer.status_code == 200, answer.content
                return io.BytesIO(answer.content)

            def __exit__(self, *_: object) -> None:
                return None

        def urlopen(request: Any) -> Answer:
            sent.append((request.full_url, request.data, dict(request.headers)))
            return Answer()

        names: dict[str, Any] = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RAGSITE_API_KEY", "k")
            patch.setattr("urllib.request.urlopen", urlopen)
            exec(code(page, "python-A"), names)  # noqa: S102 - what the page gives people to run
        assert sent[0][2]["Authorization"] == "Bearer k"
        assert json.loads(sent[0][1])["query"] == query
        assert [hit["id"] for hit in names["found"]["results"]] == [*judged_numbers(page)]


class TestSaving:
    def save(self, client: Client, page: str, grades: dict[str, str], **data: str) -> Any:
        (address,) = re.findall(r'name="address" value="([^"]*)"', page)
        posted = {"address": unescape(address), "name": "foxes", **data}
        for external_id, number in judged_numbers(page).items():
            posted |= {f"id-{number}": external_id, f"grade-{number}": grades.get(external_id, "")}
        return client.post("/admin/search/testcase/add/", posted, follow=True)

    def test_what_was_judged_is_saved_and_run(self, root: Client) -> None:
        page = shown(root, mode="fast", where=json.dumps({"letter": {"$ne": "c"}}), topic="fox")
        answer = self.save(root, page, {passage("a"): "1", passage("b"): "0"})
        case = TestCase.objects.get()
        assert (case.name, case.query, case.topic) == ("foxes", "fox night", "fox")
        assert (case.settings, case.where) == ({"mode": "fast"}, {"letter": {"$ne": "c"}})
        assert {(row.source, row.grade) for row in Judgement.objects.all()} == {("a", 1), ("b", 0)}
        run = TestRun.objects.get()
        assert case.expected == run.ndcg_at_10
        assert "The test case &#x27;foxes&#x27; is saved." in answer.content.decode()

    def test_the_settings_of_b_are_saved_where_b_is_chosen(self, root: Client) -> None:
        page = shown(root, compare="on", mode="fast", **{"b-reranker": "none", "b-lexical_weight": "0.5"})
        self.save(root, page, {passage("a"): "1"}, side="B")
        assert TestCase.objects.get().settings == {"reranker": "none", "lexical_weight": 0.5}

    def test_a_case_is_opened_judged_anew_and_saved(self, root: Client) -> None:
        self.save(root, shown(root, mode="fast"), {passage("a"): "1", passage("b"): "0"})
        case = TestCase.objects.get()
        opened = root.get(f"/admin/search/testcase/{case.pk}/change/").content.decode()
        (link,) = re.findall(rf'href="{PATH}\?([^"]*)"', opened)
        data = parse_qs(unescape(link))
        assert data == {"collection": ["animals"], "query": ["fox night"], "case": [str(case.pk)], "mode": ["fast"]}
        page = root.get(f"{PATH}?{unescape(link)}").content.decode()
        number = judged_numbers(page)[passage("a")]
        assert f'name="grade-{number}" value="1" form="judging" checked' in page
        # The first is undone, the second turned, and one that is not on the page stays.
        Judgement.objects.create(case=case, external_id="elsewhere", source="z", grade=3)
        self.save(root, page, {passage("b"): "1"}, case=str(case.pk), name="ignored")
        assert TestCase.objects.get().name == "foxes"
        assert {(row.source, row.grade) for row in Judgement.objects.all()} == {("b", 1), ("z", 3)}

    def test_nothing_relevant_is_refused_with_a_sentence(self, root: Client) -> None:
        answer = self.save(root, shown(root), {passage("a"): "0"})
        assert "Judge at least one passage as relevant" in answer.content.decode()
        assert "fox night" in answer.content.decode(), "back where it was judged"
        assert not TestCase.objects.exists()

    @pytest.mark.parametrize("data", [{}, {"address": "query=x"}, {"address": "collection=nowhere&query=x"}])
    def test_what_is_no_search_is_refused(self, root: Client, data: dict[str, str]) -> None:
        answer = root.post("/admin/search/testcase/add/", {"name": "x", **data}, follow=True)
        assert "Search one collection first" in answer.content.decode()

    def test_a_case_of_another_collection_is_not_replaced(self, root: Client) -> None:
        other = create_collection(name="other")
        case = TestCase.objects.create(collection=other, name="o", query="x", saved_by="ann")
        answer = self.save(root, shown(root), {passage("a"): "1"}, case=str(case.pk))
        assert "belongs to another collection" in answer.content.decode()

    def test_who_may_only_search_sees_nothing_to_judge(self, login: Login) -> None:
        page = shown(login("collections.view_collection", "collections.view_chunk"))
        assert "data-judge" not in page
        assert "Save as a test case" not in page


class TestCases:
    @pytest.fixture
    def case(self) -> TestCase:
        judgements = [Judged(external_id=passage("a"), grade=1)]
        return save_case(
            collection_name="animals", name="foxes", query="fox", judgements=judgements, saved_by="ann", expected=1.0
        )

    def test_one_is_run_and_expected_and_deleted(self, root: Client, case: TestCase) -> None:
        path = f"/admin/search/testcase/{case.pk}"
        assert root.get(f"{path}/run/").status_code == 405
        answer = root.post(f"{path}/run/", follow=True).content.decode()
        assert "first run" in answer
        TestRun.objects.update(ndcg_at_10=0.25)
        root.post(f"{path}/expect/")
        assert TestCase.objects.get().expected == 0.25
        answer = root.post(f"{path}/run/", follow=True).content.decode()
        assert "better" in answer
        root.post(f"{path}/delete/")
        assert not TestCase.objects.exists()

    def test_all_of_a_collection_are_run_while_they_are_few(self, root: Client, case: TestCase) -> None:
        path = f"/admin/search/testcase/run/?collection={case.collection_id}"
        assert TestRun.objects.count() == 0
        assert "1 test case" in root.get(path).content.decode()
        assert TestRun.objects.count() == 0, "looking runs nothing"
        assert 'id="reports"' in root.post(path).content.decode()
        assert TestRun.objects.count() == 1
        for number in range(MOST_IN_REQUEST):
            TestCase.objects.create(collection=case.collection, name=f"n{number}", query="x", saved_by="ann")
        page = root.post(path).content.decode()
        assert "manage.py testcases run animals" in page
        assert TestRun.objects.count() == 1

    def test_without_any_the_list_teaches(self, root: Client) -> None:
        page = root.get("/admin/search/testcase/").content.decode()
        assert "No test cases yet" in page
        assert "Try a query, judge what it finds, and save it" in page


def queries(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def addresses(case: TestCase) -> Iterator[str]:
    yield f"{PATH}?collection=animals&query=fox+night&missed=c&compare=on&b-legs=lexical&case={case.pk}"
    yield f"{PATH}?collection=animals&query=fox+night&where=%7B%22letter%22%3A%22z%22%7D"
    yield f"/admin/search/testcase/{case.pk}/change/"
    yield "/admin/search/testcase/"


@pytest.mark.django_db(transaction=True)
def test_pages_take_few_queries(root: Client) -> None:
    """In no transaction of the test's, whose savepoints would be counted."""
    judgements = [Judged(external_id=passage("a"), grade=1)]
    for number in range(3):
        given = {"query": "fox", "judgements": judgements, "saved_by": "ann"}
        case = save_case(collection_name="animals", name=f"foxes {number}", **given)  # type: ignore[arg-type]
        root.post(f"/admin/search/testcase/{case.pk}/run/")
    counted = {address: queries(root, address) for address in addresses(case)}
    assert all(count < 40 for count in counted.values()), counted
