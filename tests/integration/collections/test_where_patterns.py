"""Patterns match the same texts in Python and in Postgres."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_app.where import Compare, matches
from core_app.where.patterns import InvalidPattern, translate
from tests.integration.collections.filters import Document, answers

CHARACTERS = "abAB_1 -\n\tkKsßäÄﬁяЯΣςİ\u0131\u017f\u212a\u1e9e😀٣\u00a0.]^\\"
LITERALS = st.sampled_from(
    [*"abAB_1 -\n,:äÄßkKs\u017fςΣİ\u0131ﬁЯ]}😀", r"\.", r"\]", r"\\", r"\-", r"\^", r"\$", r"\*", r"\{"]
)
SETS = st.builds(
    lambda sign, members, end: f"[{sign}{''.join(members)}{end}]",
    st.sampled_from(["", "^"]),
    st.lists(
        LITERALS.filter(lambda one: one not in "-]")
        | st.sampled_from(
            [r"\w", r"\d", r"\s", r"\W", r"\D", r"\S", r"\n", "a-c", "A-я", "0-9", "ß-я", " -~", "&&", ":"]
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["", "", "-"]),
)
ATOMS = LITERALS | SETS | st.sampled_from([".", r"\w", r"\d", r"\s", r"\W", r"\D", r"\S"])
ANCHORS = st.sampled_from(["^", "$", r"\b", r"\B", ""])
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{0}", "{2,3}?"])
PIECES = st.builds(str.__add__, ATOMS, REPEATS) | ANCHORS


def _grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    branches = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        branches.map("".join),
        branches.map("|".join),
        st.builds(lambda start, one, repeat: f"{start}{one}){repeat}", st.sampled_from(["(", "(?:"]), inner, REPEATS),
    )


PATTERNS = st.builds(str.__add__, st.sampled_from(["", "", "(?i)"]), st.recursive(PIECES, _grouped, max_leaves=6))
TEXTS = st.lists(st.text(alphabet=CHARACTERS, max_size=6), min_size=25, max_size=25)


@pytest.mark.django_db
@given(patterns=st.lists(PATTERNS, min_size=8, max_size=8), texts=TEXTS)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_python_and_postgres_find_the_same(patterns: list[str], texts: list[str]) -> None:
    """Letters and case beyond ASCII, sets with signs in them, anchors that are repeated, empty branches."""
    rows: list[Document] = [({}, text) for text in ["", *texts]]
    for pattern in patterns:
        where = Compare(None, "$regex", pattern)
        assert answers(where, rows) == [matches(where, metadata={}, text=text) for _, text in rows], pattern


@pytest.mark.django_db
@given(pattern=st.text(alphabet=r"ab\dwsDWSbB[]^-(){}?*+|.,:i12$nt" + "äß\n", max_size=12))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_postgres_compiles_whatever_is_accepted(pattern: str) -> None:
    try:
        translate(pattern)
    except InvalidPattern:
        return
    where = Compare(None, "$regex", pattern)
    texts = ["", "a", "ab1", "b ä\n", "[a-b]", "\\d"]
    assert answers(where, [({}, text) for text in texts]) == [matches(where, metadata={}, text=text) for text in texts]


@pytest.mark.django_db
@pytest.mark.parametrize("pattern", [r"\*\*\*=a", r"\*\*\*:a", "(?:a)", r"\(\?q\)a"])
def test_no_pattern_changes_the_flavour_of_postgres(pattern: str) -> None:
    texts = ["a", "***=a", "***:a", "(?q)a", "(?:a)"]
    where = Compare(None, "$regex", pattern)
    assert answers(where, [({}, text) for text in texts]) == [matches(where, metadata={}, text=text) for text in texts]
