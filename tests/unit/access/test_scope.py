"""What a key reaches: names, patterns, verbs (README 13)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from access_app.models import Verb
from access_app.services import EVERYTHING, Caller
from core_app.errors import NotAllowed


def caller(*collections: str, verbs: tuple[str, ...] = ("read",)) -> Caller:
    return Caller(name="test", verbs=frozenset(verbs), collections=collections)


@pytest.mark.parametrize(
    ("pattern", "name", "reached"),
    [
        ("docs", "docs", True),
        ("docs", "docs2", False),
        ("docs", "Docs", False),
        ("docs", "docs\n", False),
        ("team-*", "team-a", True),
        ("team-*", "team-", True),
        ("team-*", "team", False),
        ("team-*", "xteam-a", False),
        ("*", "", True),
        ("*", "any/thing\nat all", True),
        ("*-eu", "sales-eu", True),
        ("*-eu", "sales-eu-old", False),
        ("a*b*c", "a-b-c", True),
        ("a*b*c", "abc", True),
        ("a*b*c", "acb", False),
        ("ab*ba", "aba", False),
        ("team-*", "team-a\nteam-b", True),
        ("a.c", "abc", False),
        ("a.c", "a.c", True),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("a?", "ab", False),
        ("(x|y)$^+\\d", "(x|y)$^+\\d", True),
        ("", "", True),
        ("", "x", False),
        ("名前*", "名前 ☃", True),
    ],
)
def test_star_stands_for_any_run_of_characters_and_nothing_else_does(pattern: str, name: str, reached: bool) -> None:
    assert caller(pattern).reaches(name) is reached


def matches(pattern: str, name: str) -> bool:
    """The definition, by trying everything."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(matches(pattern[1:], name[start:]) for start in range(len(name) + 1))
    return bool(name) and name[0] == pattern[0] and matches(pattern[1:], name[1:])


@given(pattern=st.text("ab*\n.", max_size=7), name=st.text("ab\n.", max_size=7))
def test_patterns_match_as_their_definition_says(pattern: str, name: str) -> None:
    assert caller(pattern).reaches(name) is matches(pattern, name)


def test_many_stars_do_not_take_forever() -> None:
    """An expression that backtracks would not end before the suite's time limit, nor ever."""
    assert not caller("*a" * 250 + "*b").reaches("a" * 512)


def test_no_pattern_reaches_nothing() -> None:
    assert not caller().reaches("docs")


def test_any_of_several_patterns_is_enough() -> None:
    both = caller("docs", "team-*")
    assert [both.reaches(name) for name in ("docs", "team-x", "other")] == [True, True, False]


@pytest.mark.parametrize(("verb", "other"), list(itertools.permutations(Verb, 2)))
def test_a_verb_allows_itself_only(verb: Verb, other: Verb) -> None:
    one = caller("*", verbs=(verb.value,))
    assert one.may(verb)
    assert one.may(verb, "docs")
    assert not one.may(other)
    assert not one.may(other, "docs")


def test_both_verb_and_collection_are_needed() -> None:
    reader = caller("docs")
    assert reader.may(Verb.READ, "docs")
    assert not reader.may(Verb.READ, "other")
    reader.require(Verb.READ, "docs")
    with pytest.raises(NotAllowed, match="may not write"):
        reader.require(Verb.WRITE, "docs")
    with pytest.raises(NotAllowed, match="does not reach"):
        reader.require(Verb.READ, "other")


def test_the_local_caller_may_do_everything() -> None:
    assert all(EVERYTHING.may(verb, "any name") for verb in Verb)
