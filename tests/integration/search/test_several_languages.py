"""Collections of several languages in one search: their words are counted apart and compared in proportion."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from search_app.results import SearchResult
from search_app.services import search_collections
from tests.integration.search.asked import SMALL, filled, sources

pytestmark = pytest.mark.django_db

NAME = "player.hook.reconnectDelay"
QUESTION = f"how do I configure {NAME} before a client tries connecting again after network failures in production"
NOISE = "Configure before a client tries connecting again after network failures in production clusters. "


@pytest.fixture
def collections(db: None) -> tuple[str, ...]:
    """One small with the name, a large one without, in which every word of the question says more."""
    filled("english", {"id": f"The setting {NAME} is documented here.", **rest(4)})
    for name, language, size in (("german", "german", 40), ("french", "french", 12)):
        filled(name, {f"{name} noise": NOISE * 3, **rest(size)}, language=language)
    return "english", "german", "french"


def rest(count: int) -> dict[str, str]:
    return {f"other {count} {n}": f"Something else entirely, number {n}." for n in range(count)}


def ask(names: Any, **more: Any) -> SearchResult:
    return search_collections(collection_names=names, query=QUESTION, top_k=5, **more)


@pytest.mark.parametrize("asked", [{"mode": "balanced"}, {"mode": "fast", "legs": "lexical"}], ids=str)
def test_c_req_002_a_name_is_not_drowned_by_a_collection_of_another_language(
    collections: tuple[str, ...], asked: dict[str, Any]
) -> None:
    for names in permutations(collections):
        assert sources(ask(names, **asked))[0] == "id"


def test_the_order_in_which_collections_are_named_changes_nothing(collections: tuple[str, ...]) -> None:
    found = [ask(names, mode="balanced", explain=True) for names in permutations(collections)]
    for one in found[1:]:
        assert sources(one) == sources(found[0])
        assert one.explanation is not None
        assert found[0].explanation is not None
        assert one.explanation.terms == found[0].explanation.terms
        assert one.explanation.lexical_weight == found[0].explanation.lexical_weight
    assert found[0].explanation is not None
    known = {term.term: term.chunks for term in found[0].explanation.terms}
    assert known[NAME.lower()] == 1


def test_explanations_add_up_in_every_language(collections: tuple[str, ...]) -> None:
    hits = ask(collections, mode="balanced", explain=True).hits
    assert {hit.collection for hit in hits} == {*collections}
    for hit in hits:
        assert hit.explanation is not None
        shares = sum(share.share for share in hit.explanation.terms)
        assert hit.explanation.lexical.score == pytest.approx(shares or None)
        assert hit.explanation.score == pytest.approx(hit.explanation.dense.share + hit.explanation.lexical.share)


COMMON = "how do I fill in form 1040 when the revenue of our company grew compared with the year before"
ANSWER = "Fill in form 1040 with the revenue of the company, which grew compared with the year before."


@pytest.mark.parametrize(("answer", "rooms"), [(ANSWER, 6), (ANSWER, 110), (ANSWER.replace(" 1040", ""), 110)])
@pytest.mark.parametrize("asked", [{"mode": "balanced"}, {"mode": "fast", "legs": "lexical"}], ids=str)
def test_a_name_that_another_language_has_everywhere_says_little(
    db: None, asked: dict[str, Any], answer: str, rooms: int
) -> None:
    filled("english", {"answer": answer, **rest(9)})
    text = "\n\n".join(f"Raum 1040: Rechner Nummer {n} steht am Fenster." for n in range(rooms))
    filled("german", {"liste": text}, language="german", chunking=SMALL)
    found = search_collections(collection_names=["german", "english"], query=COMMON, top_k=5, **asked)
    assert sources(found)[0] == "answer"


def test_a_third_language_without_the_name_changes_nothing(db: None) -> None:
    filled("english", {"answer": ANSWER, **rest(9)})
    rooms = {"liste": "Raum 1040: Rechner am Fenster.", "andere": "Raum 1040: der Drucker."}
    filled("german", rooms, language="german")
    filled("french", {"salle": "Rien du tout."}, language="french")
    names = ["german", "french", "english"]
    found = search_collections(collection_names=names, query=COMMON, mode="fast", legs="lexical")
    assert sources(found)[0] == "answer"


PRICES = {f"preis {n}": f"Preisliste: Position {n} kostet 10000 Euro im Jahr." for n in range(6)}
ROWS = "To insert many rows quickly, use COPY instead of single INSERT statements."


@pytest.mark.parametrize("count", [1, 6])
def test_a_rare_number_of_another_language_counts_no_more_than_in_one_collection(db: None, count: int) -> None:
    """Where it is as much as all other words: the numbers are not all before what has the words."""
    prices = {name: text for name, text in PRICES.items() if int(name[-1]) < count}
    filled("english", {"answer": ROWS, **rest(9)})
    others = {f"andere {n}": f"Etwas ganz anderes, Nummer {n}." for n in range(60)}
    filled("german", prices | others, language="german")
    found = search_collections(
        collection_names=["english", "german"],
        query="how do I insert 10000 rows quickly",
        mode="fast",
        legs="lexical",
        explain=True,
        top_k=20,
    )
    scores = {hit.metadata["source"]: hit.explanation.lexical.score for hit in found.hits if hit.explanation}
    assert scores["answer"] is not None
    assert max(score for name, score in scores.items() if name != "answer" and score) < 3 * scores["answer"]


@pytest.mark.parametrize("query", ["company salary policy bonus", "the company salary policy regarding a manager"])
def test_one_word_that_another_language_spells_alike_is_not_worth_the_question(db: None, query: str) -> None:
    """The stems of the others differ from language to language, and are the same words of the question."""
    right = "The salary policy of the company says when a raise is due and who decides it."
    filled("english", {"right": right, "cars": "Company cars may be used on weekends.", **rest(12)})
    bonus = "Der Bonus wird im Juni vom Werk gezahlt, wenn der Manager das Ziel erreicht."
    filled("german", {"bonus": bonus, "kantine": "Die Kantine macht um elf auf.", **rest(4)}, language="german")
    found = search_collections(collection_names=["english", "german"], query=query, mode="fast", legs="lexical")
    assert sources(found)[0] == "right"
