"""The subset of regular expressions: what is in it, what it means, what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_app.where.patterns import MAX_GROUPS_DEPTH, MAX_PIECES, InvalidPattern, translate


def found(pattern: str, text: str) -> bool:
    return translate(pattern).compiled.search(text) is not None


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a.c", ["abc", "xa\ncx"], ["ac", "ABC"]),
        ("^a$", ["a"], ["a\n", "ba", "\na", "a\nb"]),
        ("^$", [""], ["\n"]),
        ("a|bc", ["a", "bc"], ["b", "c"]),
        ("(a|b)c", ["ac", "bc"], ["a", "b"]),
        ("(?:ab){2}$", ["abab"], ["ab", "aba"]),
        ("^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]),
        ("^a{2,}?$", ["aa", "aaaaa"], ["a"]),
        ("^a*?b+?c??$", ["b", "aab", "bbc"], ["a", "bcc"]),
        (r"^\d\D\w\W\s\S$", ["1a_- x"], ["1aä x", "٣a_- x"]),
        (r"^\w$", ["a", "Z", "_", "0"], ["ä", "é", "-", "я"]),
        (r"^\s$", [" ", "\t", "\n", "\v", "\f", "\r"], ["\u00a0", "\u2003", "\x1c"]),
        (r"\bcat\b", ["a cat.", "cat"], ["cats", "_cat"]),
        (r"\Bcat", ["bobcat"], ["cat", " cat"]),
        (r"^\B$", [""], ["a"]),
        ("[a-c-]", ["b", "-"], ["d"]),
        ("[-a]", ["-", "a"], ["b"]),
        ("[^a-c]", ["d", "\n"], ["a", "abc"]),
        (r"[\w.-]", ["a", ".", "-"], ["!", " "]),
        (r"[^\W_]", ["a"], ["_", " "]),
        (r"[\]\[\\^]", ["]", "[", "\\", "^"], ["a"]),
        (r"[a^]", ["^"], ["b"]),
        (r"[\D]", ["a"], ["1"]),
        (r"[\n\t]", ["\n", "\t"], ["n", "t", "\\"]),
        (r"\.\*\+\?\(\)\[\]\{\}\|\^\$\\\/\-\_\ ", [r".*+?()[]{}|^$\/-_ "], ["."]),
        ("}]", ["}]"], ["}"]),
        ("[&&||~~+--9]", ["&", "|", "~", "+", ",", "-", "9"], ["*", ".", "3"]),
        ("ä", ["ä"], ["Ä", "a"]),
        ("(?i)straße", ["STRAẞE", "Straße"], ["strasse"]),
        ("(?i)ΣΊΣΥΦΟΣ", ["σίσυφος"], []),
        ("(?i)[a-c]я", ["BЯ"], ["dя"]),
        ("(?i)[^k]", ["a"], ["k", "K", "\u212a"]),
        ("(?i)", ["", "x"], []),
        ("a||b", ["", "x"], []),
        ("()", ["", "x"], []),
        ("^(a?){3}$", ["", "aaa"], ["aaaa"]),
        ("^a{0}$", [""], ["a"]),
        ("😀+", ["😀😀"], ["😁"]),
        ("[😀-😂]", ["😁"], ["😃"]),
        (r"\*\*\*", ["***"], ["**"]),
    ],
)
def test_what_matches(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [text for text in yes if not found(pattern, text)] == []
    assert [text for text in no if found(pattern, text)] == []


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("*a", "there is nothing that * could repeat"),
        ("***:a", "there is nothing that * could repeat"),
        ("a**", "nothing that * could repeat"),
        ("a*+", "nothing that + could repeat"),
        ("a{2}{3}", "nothing that {3} could repeat"),
        ("a???", "nothing that ? could repeat"),
        ("(|*)", "nothing that * could repeat"),
        ("^*", "nothing that * could repeat"),
        (r"\b+", "nothing that + could repeat"),
        ("(", "( is not closed"),
        ("a)", ") closes nothing"),
        ("[a", "ends too early"),
        ("[", "ends too early"),
        ("[]", "must not be empty"),
        ("[]a]", "must not be empty"),
        ("[^]", "must not be empty"),
        ("[[:alpha:]]", "classes such as [:alpha:]"),
        ("[b-a]", "must go from"),
        (r"[a-\d]", "must go from"),
        (r"[\d-z]", "for a dash between others"),
        ("[a-c-e]", "for a dash between others"),
        ("a\\", "ends too early"),
        (r"[a\]", "ends too early"),
        (r"\1", "a backslash is known"),
        (r"\x41", "a backslash is known"),
        (r"\u0041", "a backslash is known"),
        (r"\Z", "a backslash is known"),
        (r"\y", "a backslash is known"),
        (r"\ä", "a backslash is known"),
        (r"[\b]", "a backslash is known"),
        ("a{", "a { must start"),
        ("a{,3}", "a { must start"),
        ("a{ 3}", "a { must start"),
        ("a{٣}", "a { must start"),
        ("a{x}", "a { must start"),
        ("a{256}", "at most to 255"),
        ("a{3,2}", "count upwards"),
        ("(?=a)", "look-around"),
        ("(?!a)", "look-around"),
        ("(?<=a)b", "look-around"),
        ("(?P<n>a)", "after (? only"),
        ("(?s)a", "after (? only"),
        ("(?q)a", "after (? only"),
        ("a(?i)b", "after (? only"),
        ("(?i:a)", "after (? only"),
        ("(?#a)", "after (? only"),
        ("(" * (MAX_GROUPS_DEPTH + 1) + ")" * (MAX_GROUPS_DEPTH + 1), "nested more than 20 deep"),
        ("(a{25}){25}", "with its repeats written out"),
        ("(a{255}|b{255})c{91}", "with its repeats written out"),
        ("((a{10}){10}){10}", "with its repeats written out"),
    ],
)
def test_what_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(InvalidPattern, match=re.escape(message)):
        translate(pattern)


def test_the_longest_that_is_allowed() -> None:
    assert found("a{255}b{255}c{90}", "a" * 255 + "b" * 255 + "c" * 90)
    assert found("(ab{9}){60}", ("a" + "b" * 9) * (MAX_PIECES // 10))
    assert found("(" * MAX_GROUPS_DEPTH + "a" + ")" * MAX_GROUPS_DEPTH, "a")


def test_postgres_differs_where_it_must_and_nowhere_else() -> None:
    """Its end of the text, its edges of words; a pattern never starts with `***` or `(?` and a letter."""
    written = translate(r"(?i)\b^é\d(?:[x-z])$\B")
    assert written.postgres == r"\y^[\u00c9\u00e9][0-9](?:[X-Zx-z])$\Y"
    assert written.python == r"\b^[\u00c9\u00e9][0-9](?:[X-Zx-z])\Z(?!\b)"


@given(st.text(max_size=12).filter(str.isprintable))
def test_an_escaped_text_matches_itself_alone(text: str) -> None:
    pattern = f"^{re.escape(text)}$"
    assert found(pattern, text)
    assert not found(pattern, text + "x")


@given(st.text(alphabet=r"ab\dwsDWSbB[]^-(){}?*+|.,:i12$nt" + "äß\n", max_size=15))
def test_whatever_is_accepted_can_be_compiled(text: str) -> None:
    try:
        translation = translate(text)
    except InvalidPattern:
        return
    assert translation.compiled.pattern == translation.python
