"""Where a passage is that somebody misses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from collections_app.models import Chunk, Collection
from core_app.where import And, Compare
from search_app.asking import Expansion
from search_app.tracing import MOST_TRACED, Whereabouts
from tests.integration.search.asked import break_call, codes, filled, look, post

pytestmark = pytest.mark.django_db

TEXTS = {
    "a": "The fox hunts at night, and the fox sleeps by day.",
    "b": "A hunt for a fox.",
    "c": "A case of a name.",
    "d": "Cooking for two.",
}
METADATA = {name: {"letter": name, "early": name < "c"} for name in TEXTS}


@pytest.fixture
def collection(db: None) -> Collection:
    return filled("c", TEXTS, metadata=METADATA)


def traced(source: str, query: str = "fox night", **options: Any) -> Whereabouts:
    (told,) = look(query, trace=[source], **options).traced
    return told


def test_a_result_says_its_place_and_ranks(collection: Collection) -> None:
    told = traced("a")
    assert (told.verdict, told.shown, told.fused) == ("found", 1, 1)
    assert told.lexical.rank == 1
    assert (told.source, told.collection, told.excerpt) == ("a", "c", TEXTS["a"])
    assert told.id == Chunk.objects.get(text=TEXTS["a"]).external_id
    assert told == replace(traced(told.id), asked="a"), "the passage's id and its document's source say the same"


def test_what_a_filter_leaves_out_says_which_conditions(collection: Collection) -> None:
    where = And((Compare("early", "$eq", False), Compare("letter", "$in", ("a", "b"))))
    told = traced("a", where=where)
    assert (told.verdict, told.fails) == ("filtered", ['"early" is false'])
    assert told.detail == 'The filter leaves it out: "early" is false.'
    assert (told.dense.rank, told.lexical.rank) == (None, None)
    assert told.lexical.score is not None, "its score is told all the same"
    assert traced("c", where=where).fails == ['"letter" is one of "a", "b"']


def test_below_the_least_score(collection: Collection) -> None:
    """FR-010"""
    told = traced("d", min_score=0.99)
    assert told.verdict == "below"
    assert told.detail == f"Its similarity {told.dense.score:.3f} is below the least score 0.99."


def test_behind_the_last_result(collection: Collection) -> None:
    last = look("fox night", top_k=10).hits[-1].metadata["source"]
    told = traced(last, top_k=1)
    assert (told.verdict, told.fused, told.shown) == ("behind", 4, None)
    assert told.detail == "It is at place 4, and results end at 1. Ask for more to see it."


def test_in_no_leg(collection: Collection) -> None:
    told = traced("d", legs="lexical")
    assert told.verdict == "not_found"
    assert told.lexical.why == "It has no word of the query."
    assert told.dense.why == "Meaning was not searched."
    assert traced("d", legs="dense").lexical.why == "Words were not searched."


def test_inside_another_result(db: None) -> None:
    filled("c", {"a": "One fox here. " * 10 + "Night falls. " * 10}, chunking={"size": 16, "overlap": 0})
    found = look("fox", expand=None, top_k=1, trace=["a"])
    assert {one.verdict for one in found.traced} == {"found", "behind"}
    found = look("fox", expand=Expansion(kind="document"), top_k=3, trace=["a"])
    assert [one.verdict for one in found.traced][:2] == ["found", "inside"]
    assert found.traced[1].detail == "It is shown inside result 1, which stands around it."


def test_behind_the_candidates_of_both_legs(db: None) -> None:
    # Passages of one document: documents of their own would take most of the test's time to be taken in.
    text = " ".join(f"Number {n} of all the foxes is told about in this very sentence." for n in range(110))
    filled("c", {"a": text}, chunking={"size": 16, "overlap": 0})
    names = list(Chunk.objects.values_list("external_id", flat=True))
    assert len(names) >= 110
    batches = [names[start : start + MOST_TRACED] for start in range(0, len(names), MOST_TRACED)]
    told = [one for batch in batches for one in look("foxes", trace=batch, mode="fast").traced]
    assert len(told) == len(names)
    missed = [one for one in told if one.verdict == "not_found"]
    assert missed
    assert {one.dense.why for one in missed} == {"Not among the first 100 by meaning."}
    assert {one.lexical.why for one in missed} == {"Not among the first 100 by words."}
    assert all(one.dense.score is not None and one.lexical.score is not None for one in missed)


def test_a_long_document_leaves_room_for_others(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search_app.tracing.MOST_OF_DOCUMENT", 2)
    long = " ".join(f"Sentence {n} is about nothing at all." for n in range(30)) + " The fox comes last of all."
    filled("c", {"long": long, "short": "Cooking."}, chunking={"size": 16, "overlap": 0})
    told = look("fox", legs="lexical", trace=["long", "short", "long"]).traced
    assert {one.asked: one.verdict for one in reversed(told)} == {"long": "found", "short": "not_found"}
    assert len(told) == 4, "what was found, two from the beginning, and the other document once"


def test_what_is_not_there(collection: Collection) -> None:
    assert traced("nothing").verdict == "unknown"
    assert traced("<script>\x1b[0m").verdict == "unknown"


def test_a_trace_that_fails_leaves_the_results(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """B3.5"""
    monkeypatch.setattr("search_app.tracing.passing_chunks", lambda **_: 1 / 0)
    found = look("fox", trace=["a"], where=Compare("early", "$eq", True))
    assert codes(found) == ["trace_failed"]
    assert len(found.hits) == 2
    break_call(monkeypatch, "term_shares")
    assert codes(look("fox", trace=["a"], legs="dense")) == ["explanation_failed"]


def test_over_http(collection: Collection, client: Client) -> None:
    found = post(client, "fox", trace=["a", "nothing"])
    assert [one["verdict"] for one in found["trace"]] == ["found", "unknown"]
    assert "trace" not in post(client, "fox")
    post(client, "fox", status=400, trace=["a"] * (MOST_TRACED + 1))


def test_a_weight_of_the_request_comes_before_the_collection_s(collection: Collection, client: Client) -> None:
    for weight in (0.0, 0.25, 1):
        found = post(client, "fox", lexical_weight=weight, fusion="calibrated", explain=True)
        assert found["explain"]["lexical_weight"] == weight
    post(client, "fox", status=400, lexical_weight=1.5)
    post(client, "fox", status=400, lexical_weight="0.5")


def test_stages_say_when_they_began(collection: Collection) -> None:
    found = look("fox", explain=True).explanation
    assert found is not None
    began = [stage.began_ms for stage in found.stages]
    assert began == sorted(began)
    assert all(stage.began_ms >= 0 for stage in found.stages)
