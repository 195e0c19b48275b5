"""Test cases: saved with what people judged, run, compared, carried as lines of JSON."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from collections_app.models import Chunk, Collection
from collections_app.services import create_collection, delete_collection
from core_app.errors import Conflict, InvalidInput, NotFound
from ingest_app.rechunking import set_chunking
from search_app import testcases, testruns
from search_app.judging import Judged
from search_app.models import Judgement, QueryLog, TestCase, TestRun
from search_app.testcase_files import export_cases, import_cases
from search_app.testcases import delete_case, get_case, list_cases, save_case
from search_app.testruns import latest_runs, results_of, run_case, run_cases
from tests.integration.search.asked import JSON, add, filled

pytestmark = pytest.mark.django_db

TEXTS = {
    "a": "The fox hunts at night, and the fox sleeps by day.",
    "b": "A hunt for a fox.",
    "c": "A case of a name.",
    "d": "Cooking for two.",
}
HOSTILE = "<script>alert(1)</script>\u202e'\"; DROP TABLE x; -- {{ 7*7 }}"


@pytest.fixture
def collection(db: None) -> Collection:
    return filled("c", TEXTS, metadata={name: {"letter": name} for name in TEXTS})


def passage(source: str) -> str:
    return Chunk.objects.get(document__source=source).external_id


def save(name: str = "fox", *, relevant: str = "a", **options: Any) -> TestCase:
    judgements = [Judged(external_id=passage(relevant), grade=1)]
    given = {"collection_name": "c", "query": "fox night", "judgements": judgements, "saved_by": "ann"}
    return save_case(**{**given, "name": name, **options})


class TestSaving:
    def test_a_case_keeps_what_was_judged_and_what_it_was(self, collection: Collection) -> None:
        case = save(settings={"mode": "fast", "top_k": 3, "min_score": None}, where={"letter": "a"}, topic="t")
        (judged,) = case.judgements.all()
        assert (judged.source, judged.excerpt, judged.grade) == ("a", TEXTS["a"], 1)
        assert case.settings == {"mode": "fast", "top_k": 3}, "what is null is not set"
        assert list(list_cases(collection_name="c")) == [case]

    def test_a_name_is_taken_once_unless_it_is_replaced(self, collection: Collection) -> None:
        first = save()
        with pytest.raises(Conflict, match="There is a test case 'fox' already"):
            save(" fox ")
        again = save(relevant="b", replace=True)
        assert again.pk == first.pk
        assert [row.source for row in Judgement.objects.all()] == ["b"]

    @pytest.mark.parametrize(
        "given",
        [
            {"name": " "},
            {"name": "x" * 201},
            {"name": "a\0b"},
            {"query": " "},
            {"query": "x" * 4001},
            {"query": "\ud800"},
            {"where": {"$nonsense": 1}},
            {"settings": {"other": 1}},
            {"settings": {"mode": "slow"}},
            {"settings": {"top_k": 0}},
            {"settings": {"top_k": True}},
            {"settings": {"top_k": 2.5}},
            {"settings": {"lexical_weight": 2}},
            {"settings": {"min_score": float("nan")}},
            {"settings": {"expand": "everything"}},
            {"judgements": []},
            {"judgements": [Judged(external_id="x", grade=0, source="s")]},
            {"judgements": [Judged(external_id="nowhere", grade=1)]},
            {"judgements": [Judged(external_id="x", grade=4, source="s")]},
            {"judgements": [Judged(external_id="x", grade=1, source="s")] * 2},
            {"judgements": [Judged(external_id="x\0", grade=1, source="s")]},
        ],
    )
    def test_what_cannot_be_is_refused_and_nothing_is_kept(self, collection: Collection, given: Any) -> None:
        with pytest.raises(InvalidInput):
            save(**given)
        assert not TestCase.objects.exists()

    def test_there_are_only_so_many(self, collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(testcases, "MOST_CASES", 1)
        save()
        with pytest.raises(Conflict, match="test cases already"):
            save("other")
        save(replace=True)

    def test_they_go_with_their_collection(self, collection: Collection) -> None:
        run_case(case=save(), ran_by="ann")
        delete_collection(name="c")
        assert [model.objects.count() for model in (TestCase, Judgement, TestRun)] == [0, 0, 0]

    def test_one_is_deleted(self, collection: Collection) -> None:
        save()
        save("other")
        delete_case(collection_name="c", name="fox")
        assert [case.name for case in TestCase.objects.all()] == ["other"]
        with pytest.raises(NotFound, match="has no test case 'fox'"):
            get_case(collection_name="c", name="fox")


class TestRunning:
    def test_a_run_says_what_it_finds(self, collection: Collection) -> None:
        report = run_case(case=save(), ran_by="ann")
        assert (report.change, report.run.first_rank, report.run.hit, report.run.ndcg_at_10) == ("first", 1, True, 1.0)
        assert len(report.run.results) == 4, "ten are looked at, whatever the case asks for"
        assert [one.judged is not None for one in report.passages] == [True, False, False, False]
        assert QueryLog.objects.get().asked_by == "ann"

    def test_better_and_worse_than_before(self, collection: Collection) -> None:
        case = save(settings={"legs": "lexical"}, expected=1.0)
        assert not run_case(case=case, ran_by="ann").is_below_expected
        worse = save(relevant="b", settings={"legs": "lexical"}, expected=1.0, replace=True)
        report = run_case(case=worse, ran_by="ann")
        assert (report.change, report.run.first_rank, report.is_below_expected) == ("worse", 2, True)
        better = save(settings={"legs": "lexical"}, replace=True)
        assert run_case(case=better, ran_by="ann").change == "better"
        assert run_case(case=better, ran_by="ann").change == "same"

    def test_hit_counts_what_was_asked_for(self, collection: Collection) -> None:
        case = save(relevant="b", settings={"legs": "lexical", "top_k": 1})
        run = run_case(case=case, ran_by="ann").run
        assert (run.first_rank, run.hit) == (2, False)

    def test_nothing_relevant_found(self, collection: Collection) -> None:
        run = run_case(case=save(relevant="d", settings={"legs": "lexical"}), ran_by="ann").run
        assert (run.first_rank, run.hit, run.ndcg_at_10) == (None, False, 0.0)

    def test_one_that_fails_is_a_run_that_failed(self, collection: Collection) -> None:
        case = save()
        TestCase.objects.update(where={"$nonsense": 1})
        case.refresh_from_db()
        report = run_case(case=case, ran_by="ann")
        assert (report.change, report.run.error, report.run.ndcg_at_10) == ("failed", "invalid_where", None)
        assert report.detail
        assert report.is_below_expected

    def test_judgements_survive_ingesting_and_cutting_anew(self, collection: Collection) -> None:
        text = "\n\n".join(
            f"Paragraph {n} is about {word} and nothing else." for n, word in enumerate(TEXTS["a"].split())
        )
        set_chunking(name="c", own={"size": 16, "overlap": 0})
        add("c", {"long": text})
        judged = Chunk.objects.get(text__contains="about hunts")
        case = save(query="hunts paragraph", judgements=[Judged(external_id=judged.external_id, grade=1)])
        assert run_case(case=case, ran_by="ann").run.first_rank == 1
        add("c", {"long": "A new beginning that moves everything by one place.\n\n" + text})
        again = Chunk.objects.get(text__contains="about hunts")
        assert again.external_id != judged.external_id
        report = run_case(case=case, ran_by="ann")
        assert report.run.first_rank == 1
        assert report.passages[0].hit.id == again.external_id

    def test_runs_that_are_old_go(self, collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(testruns, "MOST_RUNS", 3)
        case, other = save(), save("other")
        run_case(case=other, ran_by="ann")
        runs = [run_case(case=case, ran_by="ann").run.pk for _ in range(5)]
        assert [run.pk for run in case.runs.all()] == runs[:1:-1]
        assert other.runs.count() == 1
        assert [run.pk for run in latest_runs(case_ids=[case.pk])[case.pk]] == [runs[4], runs[3]]
        assert latest_runs(case_ids=[]) == {}

    def test_what_a_run_found_is_shown_as_far_as_it_is_there(self, collection: Collection) -> None:
        case = save()
        run = run_case(case=case, ran_by="ann").run
        Chunk.objects.filter(document__source="b").delete()
        found = results_of(run=run)
        assert [one.chunk is None for one in found].count(True) == 1
        assert found[0].judged is not None

    def test_a_request_runs_few_and_the_command_all(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        save("one")
        save("two")
        with pytest.raises(InvalidInput, match=r"manage\.py testcases run"):
            run_cases(collection_name="c", ran_by="ann", most=1)
        assert len(list(run_cases(collection_name="c", ran_by="ann", most=None))) == 2
        assert [r.case.name for r in run_cases(collection_name="c", ran_by="ann", names=["two"], most=1)] == ["two"]
        with pytest.raises(NotFound):
            run_cases(collection_name="c", ran_by="ann", names=["three"])


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("testcases", *arguments, stdout=out)
    return out.getvalue()


class TestCommand:
    def test_list_and_run(self, collection: Collection) -> None:
        save(expected=1.0)
        assert command("list", "c") == "fox: fox night (not run)\nTest cases: 1.\n"
        assert "first   fox: first relevant at 1, nDCG@10 1.000, expected 1.000\n" in command("run", "c", "--strict")
        assert "(nDCG@10 1.000)" in command("list", "c")

    def test_strict_exits_with_1_when_less_is_found_than_expected(self, collection: Collection) -> None:
        save("bad", relevant="d", settings={"legs": "lexical"}, expected=1.0)
        save("new", relevant="d", settings={"legs": "lexical"})
        said = command("run", "c")
        assert "BELOW EXPECTED" in said
        assert "Below what was expected or failed: 1." in said
        with pytest.raises(SystemExit) as stopped:
            command("run", "c", "--strict")
        assert stopped.value.code == 1
        command("run", "c", "--strict", "--case", "new")

    def test_exported_lines_come_back_as_they_were(self, collection: Collection, tmp_path: Path) -> None:
        save(name=HOSTILE, query=HOSTILE, where={"letter": HOSTILE}, settings={"mode": "fast"}, expected=0.5)
        save("other", topic="a\u2028b")
        file = tmp_path / "cases.jsonl"
        assert command("export", "c", "--file", str(file)) == "Test cases written: 2.\n"
        before = list(export_cases(collection_name="c"))
        create_collection(name="elsewhere")
        assert command("import", "elsewhere", "--file", str(file)) == "Test cases saved: 2.\n"
        assert list(export_cases(collection_name="elsewhere")) == before, "passages that are not there are kept"
        with pytest.raises(CommandError, match="already"):
            command("import", "elsewhere", "--file", str(file))
        assert command("import", "elsewhere", "--file", str(file), "--replace") == "Test cases saved: 2.\n"
        rows = [json.loads(line) for line in command("export", "c").split("\n") if line]
        assert [row["expected_ndcg_at_10"] for row in rows] == [0.5, None]

    @pytest.mark.parametrize(
        "line",
        [
            "{",
            "[]",
            '{"name": 5}',
            '{"name": "a", "other": 1}',
            '{"name": "a", "query": "b", "judgements": 5}',
            '{"name": "a", "query": "b", "judgements": [{"id": "x"}]}',
            '{"name": "a", "query": "b", "judgements": [{"id": "x", "grade": true}]}',
            '{"name": "a", "query": "b", "topic": 5, "judgements": [{"id": "x", "grade": 1, "source": "s"}]}',
            '{"name": "a", "query": "b", "where": [1], "judgements": [{"id": "x", "grade": 1, "source": "s"}]}',
            '{"name": "a", "judgements": [{"id": "x", "grade": 1, "source": "s"}]}',
        ],
    )
    def test_lines_that_are_wrong_say_which(self, collection: Collection, line: str) -> None:
        with pytest.raises(InvalidInput, match=r"^Line 2: "):
            list(import_cases(collection_name="c", lines=["", line], saved_by="ann"))

    def test_mistakes_are_sentences(self, collection: Collection, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="not found"):
            command("list", "nowhere")
        with pytest.raises(CommandError, match="The file cannot be used: No such file"):
            command("import", "c", "--file", str(tmp_path / "none"))
        (tmp_path / "bad").write_bytes(b"\xff")
        with pytest.raises(CommandError, match="not UTF-8"):
            command("import", "c", "--file", str(tmp_path / "bad"))


class TestOverHttp:
    PATH = "/api/rag/collections/c/test-cases"

    def test_saved_run_and_deleted(self, collection: Collection, client: Client) -> None:
        body = {"name": HOSTILE, "query": "fox", "judgements": [{"id": passage("a"), "grade": 1}]}
        saved = client.post(self.PATH, {**body, "settings": {"legs": "lexical"}, "expected_ndcg_at_10": 1}, JSON)
        assert saved.status_code == 201
        assert client.post(self.PATH, body, JSON).json()["code"] == "test_case_exists"
        ran = client.post(f"{self.PATH}/run", {}, JSON).json()
        assert (ran["count"], ran["results"][0]["change"], ran["below_expected"]) == (1, "first", 0)
        (case,) = client.get(self.PATH).json()["test_cases"]
        assert case["name"] == " ".join(HOSTILE.split())
        assert case["last_run"]["first_rank"] == 1
        assert client.delete(self.PATH).status_code == 400
        assert client.delete(f"{self.PATH}?case=nothing").status_code == 404
        deleted = client.delete(self.PATH, query_params={"case": HOSTILE})
        assert deleted.json() == {"status": "deleted", "name": HOSTILE}
        assert client.get(self.PATH).json() == {"count": 0, "test_cases": []}

    @pytest.mark.parametrize(
        "change",
        [{"judgements": []}, {"judgements": [{"id": "x", "grade": 1}]}, {"settings": {"x": 1}}, {"where": 5}, {"x": 1}],
    )
    def test_mistakes(self, collection: Collection, client: Client, change: Any) -> None:
        body = {"name": "a", "query": "fox", "judgements": [{"id": passage("a"), "grade": 1}], **change}
        answer = client.post(self.PATH, body, JSON)
        assert answer.status_code == 400
        assert answer.json()["detail"]
        assert not TestCase.objects.exists()
