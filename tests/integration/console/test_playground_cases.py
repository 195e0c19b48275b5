"""The playground and test cases: kept filters, what was judged before a source was cut anew, names that are taken."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext

from collections_app.disabling import set_disabled
from collections_app.filters import delete_filter, save_filter
from collections_app.models import Chunk
from console_app.playground_forms import QuestionForm, SettingsForm
from console_app.testcases_admin import address_of
from search_app.activity import searches_by_day
from search_app.judging import Judged
from search_app.models import Judgement, QueryLog, TestCase
from search_app.testcases import save_case
from search_app.testruns import losses_of, run_case
from tests.integration.console.conftest import Login
from tests.integration.search.asked import filled

pytestmark = pytest.mark.django_db

PATH = "/admin/collections/collection/query/"
TEXTS = {"a": "The fox hunts at night, and the fox sleeps by day.", "b": "A hunt for a fox.", "c": "A case of a name."}


@pytest.fixture(autouse=True)
def collection(db: None) -> None:
    filled("animals", TEXTS, metadata={name: {"letter": name} for name in TEXTS})


def passage(source: str) -> str:
    return Chunk.objects.get(document__source=source).external_id


def saved(name: str = "foxes", *, source: str = "a", **given: Any) -> TestCase:
    judged = [Judged(external_id=passage(source), grade=1)]
    values = {"collection_name": "animals", "query": "fox night", "judgements": judged, "saved_by": "ann", **given}
    return save_case(name=name, **values)


def page_of(client: Client, **data: Any) -> str:
    answer = client.get(PATH, {"collection": "animals", "query": "fox night", **data})
    assert answer.status_code == 200
    return answer.content.decode()


def numbers(page: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="id-(\d+)" value="([^"]+)" form="judging">', page)
    return {unescape(external_id): number for number, external_id in found}


def posted(page: str, grades: dict[str, str], **data: str) -> dict[str, str]:
    (address,) = re.findall(r'name="address" value="([^"]*)"', page)
    sent = {"address": unescape(address), "name": "foxes", **data}
    for external_id, number in numbers(page).items():
        sent |= {f"id-{number}": external_id, f"grade-{number}": grades.get(external_id, "")}
    sent |= {name: unescape(value) for name, value in re.findall(r'name="(seen)" value="([^"]*)"', page)}
    return sent | dict(re.findall(r'name="((?:was|shown)-\d+)" value="([^"]*)"', page))


class TestKeptFilters:
    def test_a_run_uses_the_filter_as_it_is_then(self) -> None:
        save_filter(collection_name="animals", name="night", where={"letter": "a"})
        case = saved(settings={"filter": "night"})
        assert run_case(case=case, ran_by="ann").run.first_rank == 1
        save_filter(collection_name="animals", name="night", where={"letter": "b"})
        report = run_case(case=case, ran_by="ann")
        assert (report.run.first_rank, report.change) == (None, "worse")

    def test_a_name_that_is_gone_is_told_at_the_run(self, root: Client) -> None:
        save_filter(collection_name="animals", name="night", where={"letter": "a"})
        case = saved(settings={"filter": "night"})
        delete_filter(collection_name="animals", name="night")
        report = run_case(case=case, ran_by="ann")
        assert (report.change, report.run.error) == ("failed", "filter_not_found")
        page = root.post(f"/admin/search/testcase/{case.pk}/run/", follow=True).content.decode()
        assert unescape(report.detail) in unescape(page)

    def test_the_playground_takes_a_name_and_its_snippets_say_it(self, root: Client) -> None:
        save_filter(collection_name="animals", name="night", where={"letter": "b"})
        page = page_of(root, filter="night")
        assert list(numbers(page)) == [passage("b")]
        assert '"filter": "night"' in unescape(page)
        root.post("/admin/search/testcase/add/", posted(page, {passage("b"): "1"}))
        assert TestCase.objects.get().settings == {"filter": "night"}


@pytest.mark.parametrize(
    "given",
    [
        {"settings": {"expand": "window:2"}},
        {"settings": {"expand": "window:20", "filter": "night", "top_k": 100, "group_size": 10}},
        {"settings": {"lexical_weight": 0.123, "min_score": 0, "diversity": 1.0, "legs": "dense", "reranker": "none"}},
        {"query": "", "topic": "foxes"},
        {"where": {"letter": {"$in": [f"letter {number}" for number in range(900)]}}},
    ],
)
def test_whatever_the_api_takes_opens_in_the_console(given: dict[str, Any]) -> None:
    case = saved(**given)
    data = QueryDict(address_of(case))
    question, settings = QuestionForm(data, collections=["animals"]), SettingsForm(data)
    assert question.is_valid(), question.errors
    assert settings.is_valid(), settings.errors
    found = settings.given()
    assert (found.pop("where", None), found) == (case.where, case.settings)


class TestJudgements:
    def test_those_of_a_taken_name_come_back(self, root: Client) -> None:
        saved("taken")
        page = page_of(root, compare="on")
        sent = posted(page, {passage("a"): "1", passage("b"): "0"}, name="taken", side="B")
        answer = root.post("/admin/search/testcase/add/", sent).content.decode()
        assert "There is a test case &#x27;taken&#x27; already" in answer
        for source, grade in (("a", 1), ("b", 0)):
            number = numbers(answer)[passage(source)]
            assert f'name="grade-{number}" value="{grade}" form="judging" checked' in answer
        assert 'value="taken"' in answer
        assert 'name="side" value="B" checked' in answer
        again = posted(answer, {passage("a"): "1"}, name="free")
        assert root.post("/admin/search/testcase/add/", again).status_code == 302
        assert TestCase.objects.filter(name="free").exists()

    def test_they_are_shown_and_kept_once_where_the_source_was_cut_anew(self, root: Client) -> None:
        case = saved()
        gone = "0" * 8
        Judgement.objects.update(external_id=gone)
        page = page_of(root, case=str(case.pk))
        number = numbers(page)[passage("a")]
        assert f'name="grade-{number}" value="1" form="judging" checked' in page
        assert f'name="was-{number}" value="{gone}"' in page
        root.post("/admin/search/testcase/add/", posted(page, {passage("a"): "1"}, case=str(case.pk)))
        assert [row.external_id for row in Judgement.objects.all()] == [passage("a")]

    def test_an_id_with_another_text_is_not_shown_as_judged(self, root: Client) -> None:
        case = saved()
        Judgement.objects.update(external_id=passage("b"), source="a", excerpt=TEXTS["a"])
        page = page_of(root, case=str(case.pk))
        assert f'name="grade-{numbers(page)[passage("a")]}" value="1" form="judging" checked' in page
        assert f'name="grade-{numbers(page)[passage("b")]}" value="" form="judging" checked' in page

    def test_who_may_not_run_saves_without_a_run(self, login: Login) -> None:
        saver = "collections.view_collection", "collections.view_chunk", "search.view_testcase", "search.add_testcase"
        client = login(*saver)
        client.post("/admin/search/testcase/add/", posted(page_of(client), {passage("a"): "1"}))
        assert TestCase.objects.get().runs.count() == 0
        client = login(*saver, "search.add_testrun")
        client.post("/admin/search/testcase/add/", posted(page_of(client), {passage("a"): "1"}, name="run"))
        assert TestCase.objects.get(name="run").runs.count() == 1


class TestLosses:
    def test_a_run_that_is_worse_by_a_disabled_passage_says_so(self, root: Client) -> None:
        case = saved()
        assert run_case(case=case, ran_by="ann").detail == ""
        set_disabled(collection_name="animals", external_id=passage("a"), disabled=True)
        report = run_case(case=case, ran_by="ann")
        assert report.change == "worse"
        assert report.detail == "A relevant passage of 'a' is disabled: no search finds it."
        page = root.get(f"/admin/search/testcase/{case.pk}/change/").content.decode()
        assert report.detail in unescape(page)

    def test_deleted_and_edited_ones_are_told_apart(self) -> None:
        case = saved()
        run_case(case=case, ran_by="ann")
        Judgement.objects.update(external_id=passage("c"))
        assert losses_of(case=case) == ["A relevant passage of 'a' has another text now: it was edited, or cut anew."]
        Chunk.objects.filter(document__source="a").delete()
        Judgement.objects.update(external_id="gone")
        report = run_case(case=case, ran_by="ann")
        assert report.change == "worse"
        assert "it was deleted, or cut anew" in report.detail


def test_runs_are_marked_and_count_in_no_figures(root: Client) -> None:
    page_of(root)
    run_case(case=saved(), ran_by="ann")
    assert QueryLog.objects.filter(is_test=True).count() == 1
    assert searches_by_day(days=1)[0].total == searches_by_day(days=1)[0].sample == 1
    assert "ann, test" in root.get("/admin/search/querylog/").content.decode()


def test_several_collections_are_looked_up_in_one_statement(root: Client) -> None:
    for name in ("plants", "stones"):
        filled(name, {f"{name}-{number}": f"The fox of {name} hunts at night." for number in range(3)})
    data = {"collection": ["animals", "plants", "stones"], "query": "fox night", "compare": "on", "missed": "a"}
    root.get(PATH, data)
    with CaptureQueriesContext(connection) as captured:
        assert root.get(PATH, data).status_code == 200
    own = [query["sql"] for query in captured if 'SAVEPOINT "' not in query["sql"]]
    assert len(own) < 40, "\n".join(sql[:120] for sql in own)


class TestTwoPeople:
    def test_a_grade_that_somebody_else_saved_meanwhile_stays(self, root: Client) -> None:
        case = saved()
        page = page_of(root, case=str(case.pk))
        both = [Judged(external_id=passage("a"), grade=1), Judged(external_id=passage("b"), grade=1)]
        saved(judgements=both, replace=True)
        # On the page a is relevant and nothing else is judged; c is judged now.
        grades = {passage("a"): "1", passage("c"): "0"}
        root.post("/admin/search/testcase/add/", posted(page, grades, case=str(case.pk)))
        assert {(row.source, row.grade) for row in Judgement.objects.all()} == {("a", 1), ("b", 1)} | (
            {("c", 0)} if passage("c") in numbers(page) else set()
        )

    def test_a_question_that_somebody_else_changed_meanwhile_stays_until_saved_again(self, root: Client) -> None:
        case = saved()
        sent = posted(page_of(root, case=str(case.pk)), {passage("a"): "1", passage("b"): "0"}, case=str(case.pk))
        saved(query="fox day", replace=True)
        answer = root.post("/admin/search/testcase/add/", sent, follow=True).content.decode()
        assert "Its question was changed meanwhile" in answer
        assert TestCase.objects.get().query == "fox day"
        again = posted(answer, {passage("a"): "1", passage("b"): "0"}, case=str(case.pk))
        root.post("/admin/search/testcase/add/", again)
        assert TestCase.objects.get().query == "fox night"
        assert Judgement.objects.count() == 2
