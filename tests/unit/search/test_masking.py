"""What the query log keeps of a text."""

from __future__ import annotations

import re
import unicodedata

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from search_app.masking import hashed, masked, storable

ADDRESS = re.compile(r"[^\s@]@[^\s@]")

#: Texts in which what must go is likely: pieces of it, with any characters between them.
PIECES = st.lists(
    st.one_of(
        st.emails(),
        st.from_regex(r"\d{1,9}", fullmatch=True),
        st.from_regex(r"[A-Za-z0-9+/=_-]{1,40}", fullmatch=True, alphabet=st.characters(codec="ascii")),
        st.sampled_from(['"', "'", "`", "@", " ", ".", "-", "\N{ZERO WIDTH SPACE}", "\N{FULLWIDTH COMMERCIAL AT}"]),
        st.characters(),
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("how do I reset error 17", "how do I reset error 17"),
        ("mail jane.doe+x@example.org now", "mail [email] now"),
        ("who is <bob@example.org>, please?", "who is [email] please?"),
        ("b\N{FULLWIDTH COMMERCIAL AT}example.org", "[email]"),
        ("order 4711", "order [number]"),
        ("ERR-4711 in 3.11", "ERR-[number] in 3.11"),
        ("call 030 12 34 56", "call [number]"),
        ("on 2026-11-22 at noon", "on [number] at noon"),
        ("\N{FULLWIDTH DIGIT ONE}\N{FULLWIDTH DIGIT TWO}34", "[number]"),
        ("12\N{ZERO WIDTH SPACE}34", "[number]"),
        ("rs_0123456789ab_secretsecretsecret fails", "[secret] fails"),
        ("what is a1b2c3d4e5f6a7b8?", "what is [secret]"),
        ("x" * 32, "[secret]"),
        ("Rechtsschutzversicherungsgesellschaft kündigen", "[secret] kündigen"),
        ("internationalization of strings", "internationalization of strings"),
        ('find "my own words" here', "find [quoted] here"),
        ("find 'my mother's words' here, don't fail", "find [quoted] here, don't fail"),
        ("\N{LEFT DOUBLE QUOTATION MARK}a b\N{RIGHT DOUBLE QUOTATION MARK} c", "[quoted] c"),
        ("\N{DOUBLE LOW-9 QUOTATION MARK}a b\N{LEFT DOUBLE QUOTATION MARK} c", "[quoted] c"),
        ('a "b c', 'a "b c'),
        ("it's what he doesn't say", "it's what he doesn't say"),
        ("  two \n words\x00 ", "two words"),
    ],
)
def test_words_stay_and_what_tells_goes(text: str, kept: str) -> None:
    assert masked(text) == kept


@given(PIECES)
def test_req_rag_sec_004_no_address_and_no_long_number_is_ever_left(text: str) -> None:
    shown = masked(text)
    assert not ADDRESS.search(shown)
    assert not re.search(r"\d{4}", shown)


@given(PIECES)
def test_no_key_is_ever_left(text: str) -> None:
    for token in re.findall(r"[!-~]{16,}", masked(text).replace("[", " ").replace("]", " ")):
        assert len(token) < 32
        assert token.isalpha() or not re.search(r"\d", token) or not re.search(r"[A-Za-z]", token)


@given(PIECES)
def test_whatever_is_kept_can_be_stored_and_shown(text: str) -> None:
    for kept in (masked(text), storable(text)):
        assert kept.encode("utf-8").decode("utf-8") == kept
        assert not [character for character in kept if unicodedata.category(character) in {"Cc", "Cf"}]


@pytest.mark.parametrize(
    "text", ["a" * 4000, "1 " * 2000, "a'" * 2000, '"' * 3999, "\N{LEFT DOUBLE QUOTATION MARK}" * 4000]
)
def test_hostile_texts_are_masked(text: str) -> None:
    assert len(masked(text)) <= len(text) + len("[quoted]") * 4000


def test_equal_questions_have_one_hash() -> None:
    assert (
        hashed("Where is  the KEY?")
        == hashed(" where is the key?\n")
        == hashed("\N{FULLWIDTH LATIN CAPITAL LETTER W}here is the key?")
    )
    assert hashed("where is the key?") != hashed("where is the lock?")
    assert re.fullmatch(r"[0-9a-f]{64}", hashed("where is the key?"))


def test_a_hash_takes_the_servers_secret() -> None:
    with override_settings(SECRET_KEY="one"):
        first = hashed("where is the key?")
    with override_settings(SECRET_KEY="another"):
        assert hashed("where is the key?") != first
