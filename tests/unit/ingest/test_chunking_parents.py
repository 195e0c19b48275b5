"""Parents: what is shown around a passage that was found."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core_app.errors import InvalidInput
from ingest_app.chunking import TextChunk
from ingest_app.chunking.parents import with_parents
from ingest_app.chunking.sections import sections
from ingest_app.chunking_settings import LARGEST, Chunking
from ingest_app.parsing import Heading, ParsedDocument
from tests.unit.ingest.test_chunking import PIECES, count_tokens, document
from tests.unit.ingest.test_chunking_tables import HEADER, sheet, written


def cut(parsed: ParsedDocument, **own: object) -> list[TextChunk]:
    return Chunking.of(own, size=200, overlap=30).cut(parsed, count_tokens=count_tokens)


def runs(chunks: list[TextChunk]) -> list[tuple[tuple[int, int], list[TextChunk]]]:
    """Neighbours of one parent."""
    grouped = itertools.groupby(chunks, key=lambda part: part.parent)
    return [(span, list(group)) for span, group in grouped if span is not None]


def lead(part: TextChunk) -> str:
    return part.text[: len(part.text) - (part.end - part.start)]


@settings(max_examples=150, deadline=None)
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=60),
    is_markdown=st.booleans(),
    fixed=st.booleans(),
    size=st.integers(16, 60),
    more=st.integers(0, 300),
    share=st.floats(0, 0.5),
)
@example(pieces=["word "] * 60, is_markdown=True, fixed=False, size=16, more=0, share=0.5)
@example(pieces=["漢字仮名交じり文。"] * 60, is_markdown=False, fixed=True, size=16, more=300, share=0.0)
def test_parents_are_the_longest_runs_that_fit(
    pieces: list[str], is_markdown: bool, fixed: bool, size: int, more: int, share: float
) -> None:
    text = "".join(pieces)
    offsets = [match.start() for match in re.finditer(r"^#+ \w", text, re.M)]
    headings = tuple(Heading(offset=o, level=1 + o % 3, text=f"H{o}") for o in offsets)
    parsed = document(text, is_markdown=is_markdown, headings=headings)
    own = {"strategy": "fixed" if fixed else "structure", "size": size, "overlap": int(size * share)}

    found = cut(parsed, **own, parent_size=size + more)

    assert [(part.text, part.start, part.end, part.section) for part in found] == [
        (part.text, part.start, part.end, part.section) for part in cut(parsed, **own)
    ], "parents change nothing about the passages"
    grouped = runs(found)
    assert [part for _, group in grouped for part in group] == found, "each passage has one, in order"
    starts = [section.start for section in sections(parsed)]
    for span, group in grouped:
        assert span == (group[0].start, group[-1].end)
        assert all(span[0] <= part.start < part.end <= span[1] for part in group)
        assert len(group) == 1 or count_tokens(text[slice(*span)]) <= size + more
        assert fixed or not [start for start in starts if group[0].start < start <= group[-1].start]
        assert not lead(group[0]) or {lead(part) for part in group} == {lead(group[0])}
    for (span, group), (_, after) in itertools.pairwise(grouped):
        following = after[0]
        room = text[span[0] : following.end]
        is_crossing = not fixed and any(group[0].start < start <= following.start for start in starts)
        is_mixing = lead(group[0]) != "" and lead(following) != lead(group[0])
        fits = count_tokens(room) <= size + more and len(room) <= 10 * (size + more)
        assert is_crossing or is_mixing or not fits, "a longer run would have fitted"


def test_a_parent_stays_within_its_section_and_windows_do_not() -> None:
    text = "".join(f"## Part {n}\n\n" + "One two three four. " * 20 + "\n\n" for n in range(3))
    offsets = [match.start() for match in re.finditer("##", text)]
    headings = tuple(Heading(offset=o, level=2, text=f"Part {n}") for n, o in enumerate(offsets))
    parsed = document(text, is_markdown=True, headings=headings)
    by_structure = runs(cut(parsed, size=32, overlap=0, parent_size=1000))
    assert [span[0] for span, _ in by_structure] == offsets
    assert [{part.section for part in group} for _, group in by_structure] == [{(f"Part {n}",)} for n in range(3)]
    (whole,) = runs(cut(parsed, strategy="fixed", size=32, overlap=0, parent_size=1000))
    assert whole[0] == (0, len(text.rstrip()))


def test_sections_of_the_same_name_are_two() -> None:
    text = "## Example\n\nOne.\n\n## Example\n\nTwo.\n"
    headings = (Heading(offset=0, level=2, text="Example"), Heading(offset=18, level=2, text="Example"))
    found = cut(document(text, is_markdown=True, headings=headings), size=16, overlap=0, parent_size=100)
    assert [part.parent for part in found] == [(0, 16), (18, 34)]


def test_rows_without_their_header_share_a_parent_with_rows_of_their_table_only() -> None:
    writer = sheet(50)
    writer.block("What follows the table is short.")
    parsed = written(writer)
    grouped = runs(cut(parsed, size=60, overlap=0, parent_size=240))
    (first, _), *later = grouped
    assert parsed.text[slice(*first)].startswith("## People\n\n" + HEADER)
    *rows, (_, last) = later
    assert rows
    assert all(lead(part) == HEADER for _, group in rows for part in group)
    assert [part.text for part in last] == ["What follows the table is short."]


def test_what_follows_a_table_that_is_there_whole_shares_its_parent() -> None:
    writer = sheet(12)
    writer.block("What follows the table is short.")
    parsed = written(writer)
    ((span, group),) = runs(cut(parsed, size=60, overlap=0, parent_size=400))
    assert parsed.text[slice(*span)] == parsed.text.rstrip()
    assert [lead(part) for part in group] == ["", HEADER, ""]


def test_a_long_text_is_counted_a_few_times_only() -> None:
    """Not once for each of the passages of a parent, of which there may be hundreds."""
    text = "word " * 20_000
    chunks = [
        TextChunk(ordinal=n, text=text[n * 50 : n * 50 + 49], start=n * 50, end=n * 50 + 49, section=(), page=None)
        for n in range(2000)
    ]
    counted = 0

    def count(part: str) -> int:
        nonlocal counted
        counted += len(part)
        return count_tokens(part)

    plain = document(text)
    found = with_parents(plain, chunks, size=5000, across_sections=False, count_tokens=count)
    assert len(runs(found)) == 4
    assert counted < 8 * len(text)


def test_a_text_that_is_too_long_by_its_characters_is_not_counted() -> None:
    text = "a" * 100_000
    chunks = [
        TextChunk(ordinal=n, text=text[start : start + 50_000], start=start, end=start + 50_000, section=(), page=None)
        for n, start in enumerate((0, 50_000))
    ]

    def never(part: str) -> int:
        raise AssertionError(len(part))

    found = with_parents(document(text), chunks, size=100, across_sections=True, count_tokens=never)
    assert [part.parent for part in found] == [(0, 50_000), (50_000, 100_000)]


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"size": 100, "parent_size": 99}, "chunking.parent_size: must be size (100) to 8192 tokens, or 0 for none."),
        ({"parent_size": LARGEST + 1}, "chunking.parent_size: must be size (200) to 8192 tokens, or 0 for none."),
        ({"parent_size": -1}, "chunking.parent_size: must be size (200) to 8192 tokens, or 0 for none."),
        ({"parent_size": False}, "chunking.parent_size: must be a whole number of tokens."),
        ({"parent_size": "800"}, "chunking.parent_size: must be a whole number of tokens."),
        (
            {"strategy": "whole", "parent_size": 800},
            "chunking.parent_size: documents that are not cut have no parents.",
        ),
    ],
)
def test_parent_sizes_that_cannot_be_are_named(own: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        Chunking.of(own, size=200, overlap=30)


def test_no_parents_are_cut_like_before_there_were_any() -> None:
    without = Chunking.of({}, size=200, overlap=30)
    assert without.signature == "structure 200 30", "or all that is stored would be cut anew"
    for none in (None, 0):
        assert Chunking.of({"parent_size": none}, size=200, overlap=30) == without
        assert Chunking.of({"strategy": "whole", "parent_size": none}, size=200, overlap=30).signature == "whole"
    parents = Chunking.of({"parent_size": 800}, size=200, overlap=30)
    assert (parents.signature, parents.as_json()["parent_size"]) == ("structure 200 30 800", 800)
    assert {part.parent for part in without.cut(document("Some words."), count_tokens=count_tokens)} == {None}
