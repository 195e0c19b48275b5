"""Where a text has the words of a query."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core_app.errors import InvalidInput
from stores_app.lexical.analysis import document_terms, query_terms
from stores_app.lexical.marking import marks

#: In letters as wide as Chinese ones.
WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "Database")


def marked(query: str, text: str, language: str = "english") -> list[str]:
    (ranges,) = marks(query=query, texts=[text], language=language)
    return [text[start:end] for start, end in ranges]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("databases", "A Database, two DATABASES and a datum.", ["Database", "DATABASES"]),
        ("running", "He runs; she ran.", ["runs"]),
        ("the fox of it", "The fox and the hound of it.", ["fox"]),
        ("the of", "The text of it.", []),
        ("", "Anything", []),
        ("fox", "", []),
        ("fox fox", "fox fox", ["fox", "fox"]),
        ("absent", "Nothing of the kind.", []),
        ("don't", "I don't know. Don is here.", ["don't", "Don"]),
    ],
)
def test_words_are_marked_by_their_stems_and_stop_words_never(query: str, text: str, found: list[str]) -> None:
    assert marked(query, text) == found


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("CVE-2024-1234", "See CVE-2024-1234.", ["CVE-2024-1234"]),
        ("snake_case_name", "The snake_case_name is set.", ["snake_case_name"]),
        ("case", "The snake_case_name is set.", ["case"]),
        ("snake name", "The snake_case_name is set.", ["snake", "name"]),
        ("hook.player.connected", "on hook.player.connected!", ["hook.player.connected"]),
        ("player", "on hook.player.connected!", ["player"]),
        ("moduleControllerCreate", "Call moduleControllerCreate now.", ["moduleControllerCreate"]),
        ("modulecontrollercreate", "Call moduleControllerCreate now.", ["moduleControllerCreate"]),
        ("controllers", "Call moduleControllerCreate now.", ["Controller"]),
        ("create module", "Call moduleControllerCreate now.", ["module", "Create"]),
        ("server", "An HTTPServer and my_HTTPServer.", ["Server", "Server"]),
        ("moduleControllerCreate", "A module has a controller.", ["module", "controller"]),
        ("wild type", "A wild-type mouse.", ["wild-type"]),
        ("wild", "A wild-type mouse.", ["wild"]),
        ("1.2.3", "Since v1.2.3 or 1.2.", ["v1.2.3", "1", "2"]),
    ],
)
def test_c_req_002_names_are_marked_whole_or_in_those_parts_that_were_asked(
    query: str, text: str, found: list[str]
) -> None:
    assert marked(query, text) == found


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("東京", "私は東京に住む", ["東京"]),
        ("東京都", "東京都庁", ["東京都"]),
        ("京", "京x と 京", ["京", "京"]),
        ("東京 tower", "東京tower", ["東京tower"]),
        ("tower", "東京tower", ["tower"]),
        ("데이터", "이 데이터는", ["데이터"]),
        ("大阪", "東京に", []),
    ],
)
def test_cjk_is_marked_by_pairs_of_characters_joined(query: str, text: str, found: list[str]) -> None:
    assert marked(query, text) == found


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("database", "A data\u00adbase.", ["data\u00adbase"]),
        ("database", "soft\u00ad data\u00adbases", ["data\u00adbases"]),
        ("don't", "I don\u2019t and don\u02bct.", ["don\u2019t", "don\u02bct"]),
        ("l'avion", "l\u2019avion", ["l\u2019avion"]),
        ("avion", "l\u2019avion", ["l\u2019avion"]),
        ("CVE-2024", "CVE\u20102024", ["CVE\u20102024"]),
        ("2024", "CVE\u20102024", ["2024"]),
        ("database", WIDE + "\uff01", [WIDE]),
        (WIDE, "a database", ["database"]),
        ("café", "Cafe\u0301 au lait", ["Cafe\u0301"]),
        ("straße", "STRASSE", ["STRASSE"]),
        ("office", "o\ufb03ce", ["o\ufb03ce"]),
    ],
)
def test_what_analysis_makes_plain_is_marked_as_it_stands(query: str, text: str, found: list[str]) -> None:
    assert marked(query, text) == found


def test_the_language_decides_what_is_the_same_word() -> None:
    assert marked("Häuser", "Das Haus und die Häuser", "german") == ["Haus", "Häuser"]
    assert marked("Häuser", "Das Haus und die Häuser", "english") == ["Häuser"]
    assert marked("Katzen", "Eine Katze, die Katzen", "german") == ["Katze", "Katzen"]
    assert marked("Katzen", "Eine Katze, die Katzen", "simple") == ["Katzen"]
    assert marked("die", "to die", "german") == []
    assert marked("die", "to die", "english") == ["die"]


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InvalidInput):
        marks(query="a", texts=["a"], language="klingon")


def test_each_text_has_its_own_ranges() -> None:
    assert marks(query="fox", texts=["a fox", "", "fox fox", "hound"], language="english") == [
        [(2, 5)],
        [],
        [(0, 3), (4, 7)],
        [],
    ]
    assert marks(query="fox", texts=[], language="english") == []


LETTERS = "aAbBzZ09 _.-'\u2019\u2010\u00ad\u02bc\u0301京東アｱ데\uff21\uff11ﬁßİ①½ \n"
TEXTS = st.one_of(st.text(max_size=60), st.text(alphabet=LETTERS, max_size=40))


@given(TEXTS, TEXTS, st.sampled_from(["english", "simple", "turkish"]))
@example("京", "京a", "simple")
@example("İ", "i\u0307İ", "turkish")
def test_ranges_ascend_are_apart_and_lie_within_any_text(query: str, text: str, language: str) -> None:
    (ranges,) = marks(query=query, texts=[text], language=language)
    places = [0, *(place for both in ranges for place in both), len(text)]
    assert places == sorted(places)
    assert all(start < end for start, end in ranges)


#: What reads the same as it stands and made plain: no characters that fall apart into several.
PLAIN = st.text(alphabet="abvAB01 _.-'\u2019京東ア", max_size=30)


@given(PLAIN, PLAIN)
@example("京", "京a")
@example("b", "aB")
@example("1", "v1.2")
def test_a_text_is_marked_exactly_where_it_was_found_for(query: str, text: str) -> None:
    shared = {term.term for term in query_terms(query, "simple")} & set(document_terms(text, "simple"))
    (ranges,) = marks(query=query, texts=[text], language="simple")
    assert bool(ranges) == bool(shared)
    # Every word that was asked for can be read in what is marked.
    found = {term for start, end in ranges for term in document_terms(text[start:end], "simple")}
    assert shared <= found
