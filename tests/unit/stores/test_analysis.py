from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_app.errors import InvalidInput
from stores_app.lexical.analysis import PART_WEIGHT, document_terms, query_terms, weights
from stores_app.lexical.folding import LONGEST_TERM
from stores_app.lexical.languages import LANGUAGES


def english(text: str) -> list[str]:
    return document_terms(text, "english")


def simple(text: str) -> list[str]:
    return document_terms(text, "simple")


def test_words_are_folded_and_stemmed_and_stop_words_left_out() -> None:
    assert english("The Controllers were CONTROLLING the control.") == ["control", "control", "control"]


def test_simple_neither_stems_nor_drops_anything() -> None:
    assert simple("The Controllers") == ["the", "controllers"]


@pytest.mark.parametrize(
    ("token", "terms"),
    [
        ("moduleControllerCreate", {"modulecontrollercreate", "modul", "control", "creat"}),
        ("hook.player.connected", {"hook.player.connected", "player.connected", "hook", "player", "connect"}),
        ("snake_case_name", {"snake_case_name", "snake", "case", "name"}),
        ("MAX_CHUNK_SIZE", {"max_chunk_size", "max", "chunk", "size"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("XMLHttpRequest", {"xmlhttprequest", "xml", "http", "request"}),
        ("CVE-2024-1234", {"cve-2024-1234", "cve", "2024", "1234"}),
        ("RAG-ERR-001", {"rag-err-001", "rag", "err", "001"}),
        ("v1.2.3", {"1.2.3", "1", "2", "3"}),
        ("V1.2.3", {"1.2.3", "1", "2", "3"}),
        ("dev1.2", {"dev1.2", "dev1", "2"}),
        ("1.2.3", {"1.2.3", "1", "2", "3"}),
        ("api.userStore", {"api.userstore", "api", "userstore", "user", "store", "userstor"}),
        ("my_app-v2.tar.gz", {"my_app-v2.tar.gz", "tar.gz", "my_app-v2", "my_app", "app", "v2", "tar", "gz"}),
        ("__init__", {"init"}),
        ("click.Group.command", {"click.group.command", "group.command", "click", "group", "command"}),
        ("a.b.Group._private_", {"a.b.group._private", "group._private", "b", "group", "privat"}),
        ("wild-type", {"wild", "type"}),
        ("APIs", {"api"}),
    ],
)
def test_an_identifier_is_indexed_whole_and_in_parts(token: str, terms: set[str]) -> None:
    """C-REQ-002: the exact name of an API finds its documentation, and so do the words in it."""
    found = set(english(f"See {token}.")) - {"see"}
    # Nothing is left out but stop words; lower-case spellings may be stemmed as words besides.
    assert terms <= found
    assert len(found) <= len(terms) + 1


@pytest.mark.parametrize(
    "token", ["1.2.3", "v1.2.3", "10.0.0.1", "a.b.1", "a.1.b", "Group.command", "a.b-c-d", "U.S.A", "df.iloc.T"]
)
def test_no_other_end_is_a_name(token: str) -> None:
    whole = token.lower().removeprefix("v")
    assert [term for term in english(token) if "." in term] == ([whole] if "-" not in token else ["a.b-c-d"])


def test_the_end_of_a_dotted_name_counts_little_where_the_whole_is_known() -> None:
    asked = query_terms("click.Group.command", "english")
    known = weights(asked, {"click.group.command", "group.command", "group", "command"})
    assert (known["click.group.command"], known["group.command"], known["group"]) == (1.0, PART_WEIGHT, PART_WEIGHT)
    assert weights(asked, {"group.command"})["group.command"] == 1.0
    assert weights(asked, {"group.command"})["command"] == PART_WEIGHT
    assert weights(asked, {"group.command"})["click"] == 1.0


def test_every_spelling_of_an_identifier_meets_the_same_term() -> None:
    written = set(english("OpenTelemetry"))
    assert set(english("opentelemetry")) <= written
    assert set(english("OPENTELEMETRY")) <= written


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("don't", ["don"]),
        ("the dog\u2019s", ["dog"]),
        ("l'avion", ["avion"]),
        ("co\u00adoperate", ["cooper"]),
        ("IL\u201010", ["il-10", "il", "10"]),
        ("\ufb01le \uff21\uff22\uff23", ["file", "abc"]),
        ("wait... what?! -- (well)", ["wait", "well"]),
        ("user@example.com/v1", ["user", "example.com", "exampl", "com", "v1"]),
    ],
)
def test_typography_is_evened_out(text: str, terms: list[str]) -> None:
    assert english(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("\u6771\u4eac\u90fd", ["\u6771\u4eac", "\u4eac\u90fd"]),
        ("\u732b", ["\u732b"]),
        ("\u30c7\u30fc\u30bf", ["\u30c7\u30fc", "\u30fc\u30bf"]),
        ("\ud55c\uad6d\uc5b4", ["\ud55c\uad6d", "\uad6d\uc5b4"]),
        ("\u8868.txt", ["\u8868", "txt"]),
        ("SQL\u306e\u8868", ["sql", "\u306e\u8868"]),
        ("\u6771\u4eac\u3001\u5927\u962a", ["\u6771\u4eac", "\u5927\u962a"]),
    ],
)
def test_chinese_japanese_and_korean_run_as_bigrams(text: str, terms: list[str]) -> None:
    assert english(text) == terms
    assert simple(text) == terms


def test_vowel_signs_belong_to_their_word() -> None:
    assert len(document_terms("\u0939\u093f\u0928\u094d\u0926\u0940", "hindi")) == 1
    assert simple("\u0939\u093f\u0928\u094d\u0926\u0940") == ["\u0939\u093f\u0928\u094d\u0926\u0940"]


def test_other_languages_bring_their_stems_and_stop_words() -> None:
    assert document_terms("die H\u00e4user und das Haus", "german") == ["haus", "haus"]
    assert (
        document_terms("\u043a\u043d\u0438\u0433\u0438 \u0438 \u043a\u043d\u0438\u0433\u0430", "russian")
        == ["\u043a\u043d\u0438\u0433"] * 2
    )
    assert document_terms("all'acqua", "italian") == ["acqua"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_listed_language_works(language: str) -> None:
    assert document_terms("database", language)
    assert query_terms("database", language)


@pytest.mark.parametrize("language", ["klingon", "", "porter", "English"])
def test_an_unknown_language_is_refused_with_the_known_ones(language: str) -> None:
    with pytest.raises(InvalidInput, match="english") as caught:
        document_terms("text", language)
    assert caught.value.code == "unknown_language"


def test_very_long_terms_are_cut_and_stay_distinct() -> None:
    first, second = simple("x" * 5000 + "a"), simple("x" * 5000 + "b")
    assert [len(term) for term in first + second] == [LONGEST_TERM, LONGEST_TERM]
    assert first != second
    assert first == simple("x" * 5000 + "a")


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "?!", "\x00", "\ud800", "the of and"])
def test_text_without_a_word_has_no_terms(text: str) -> None:
    """B8.1"""
    assert english(text) == []
    assert query_terms(text, "english") == []


@settings(deadline=None)
@given(st.text(max_size=200), st.sampled_from(["english", "simple", "turkish"]))
def test_queries_have_exactly_the_terms_of_a_document_with_their_text(text: str, language: str) -> None:
    terms = document_terms(text, language)
    asked = query_terms(text, language)
    assert {term.term for term in asked} == set(terms)
    assert sum(term.weight for term in asked) == len(terms)
    for term in terms:
        assert 0 < len(term) <= LONGEST_TERM
        assert "\x00" not in term
        term.encode()


def test_repeated_query_words_weigh_as_often_as_they_stand_there() -> None:
    assert weights(query_terms("alpha beta alphas", "english"), set()) == {"alpha": 2.0, "beta": 1.0}


def test_parts_count_a_tenth_when_the_whole_is_known() -> None:
    """C-REQ-002"""
    asked = query_terms("moduleControllerCreate", "english")
    unknown = weights(asked, {"modul"})
    known = weights(asked, {"modulecontrollercreate", "modul"})
    assert set(unknown.values()) == {1.0}
    assert known.pop("modulecontrollercreate") == 1.0
    assert set(known.values()) == {PART_WEIGHT}


def test_a_known_member_discounts_its_own_parts_only() -> None:
    asked = query_terms("api.userStore api", "english")
    assert weights(asked, {"userstore"}) == {
        "api.userstore": 1.0,
        "userstore": 1.0,
        "api": 2.0,
        "user": PART_WEIGHT,
        "store": PART_WEIGHT,
        "userstor": PART_WEIGHT,
    }
    assert weights(asked, {"api.userstore"})["api"] == 1.0 + PART_WEIGHT


def test_threads_do_not_disturb_each_other() -> None:
    """Snowball's stemmers keep state; searches run in threads."""
    words = [f"connecting{index}s running{index} databases" for index in range(300)]
    expected = [document_terms(word, "danish") for word in words]
    results: list[list[list[str]]] = []

    def work() -> None:
        results.append([document_terms(word, "danish") for word in words])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4
