"""Chunks are exact, complete, within size, and know where they stand (REQ-005, contextual chunking)."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from collections_app.context import contextual_text
from ingest_app.chunking import chunk
from ingest_app.parsing import Heading, PageStart, ParsedDocument, parse

PIECES = (
    *(
        "word ",
        "two words. ",
        "naïve ",
        "e\u0301",
        "漢字仮名交じり文。",
        "👩‍👩‍👧‍👦",
        "🇫🇷",
        "\u200b",
        "מילה ",
        "a" * 150,
    ),
    *("\n", "\n\n", "\n# Title\n", "\n## Sub\n", "\n### Deep\n", "\n- item\n", "\n| a | b |\n| --- | --- |\n"),
    *("\n\n| a b | c |\n| --- | --- |\n" + "| x y | z |\n" * rows for rows in (1, 8, 30)),
    *("\n```\n# code\n```\n", "    ", "\t", "***", "_x_y_", "\n---\n", "\n> quote\n", "[link](http://x)", "\u3000"),
)


def count_tokens(text: str) -> int:
    """A stand-in for a tokenizer: words and signs, and a word of any length is one (as in WordPiece)."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def document(text: str, **fields: object) -> ParsedDocument:
    values = {"media_type": "text/plain", "title": "T", **fields}
    return ParsedDocument(text=text, **values)  # type: ignore[arg-type]


def markdown(text: str) -> ParsedDocument:
    return parse(name="notes.md", content=text.encode())


@settings(max_examples=150, deadline=None)
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=60),
    is_markdown=st.booleans(),
    size=st.integers(1, 60),
    overlap=st.integers(0, 20),
)
@example(pieces=["a" * 150] * 700, is_markdown=False, size=60, overlap=7)
def test_chunks_are_exact_complete_and_within_size(
    pieces: list[str], is_markdown: bool, size: int, overlap: int
) -> None:
    text = "".join(pieces)
    offsets = [match.start() for match in re.finditer(r"^#+ \w", text, re.M)]
    headings = tuple(Heading(offset=o, level=1 + o % 3, text=f"H{o}") for o in offsets)
    parsed = document(text, is_markdown=is_markdown, headings=headings)

    overlap = min(overlap, size - 1)
    chunks = chunk(parsed, size=size, overlap=overlap, count_tokens=count_tokens)

    covered: set[int] = set()
    for ordinal, found in enumerate(chunks):
        assert found.ordinal == ordinal
        own = text[found.start : found.end]
        assert found.text.endswith(own)
        assert found.text == own or found.text.removesuffix(own) in text
        assert own.strip()
        assert count_tokens(found.text) <= size
        covered.update(range(found.start, found.end))
    assert [i for i, character in enumerate(text) if not character.isspace() and i not in covered] == []
    assert [found.start for found in chunks] == sorted(found.start for found in chunks)
    assert chunks == chunk(parsed, size=size, overlap=overlap, count_tokens=count_tokens)


def test_a_giant_word_that_counts_as_one_token_is_split() -> None:
    chunks = chunk(document("x" * 100_000), size=200, overlap=20, count_tokens=count_tokens)
    assert len(chunks) >= 50
    assert max(len(found.text) for found in chunks) <= 2000


UNBROKEN = {
    "word": "w" * 40_000,
    "heading": "# " + "heading " * 5_000 + "\n\ntext",
    "image": "![i](data:image/png;base64," + "iVBORw0KGgo+AAA/" * 2_500 + ")",
    "line": "the quick brown fox. " * 2_000,
    "list": "- item with some words\n" * 2_000,
    "code": "```\n" + "value = 1\n" * 4_000,
}


def test_long_runs_of_blank_space_are_not_given_to_the_splitter() -> None:
    """A hundred thousand line breaks cost it more than a minute."""
    text = "# A\n\nfirst" + "\n" * 3000 + "second" + " \n" * 3000 + "third\n"
    chunks = chunk(markdown(text), size=50, overlap=8, count_tokens=count_tokens)
    assert [found.text.split()[-1] for found in chunks] == ["first", "second", "third"]
    assert max(len(found.text) for found in chunks) < 100


@pytest.mark.parametrize("text", UNBROKEN.values(), ids=UNBROKEN.keys())
def test_the_work_grows_with_the_text_and_not_faster(text: str) -> None:
    """Counted in characters that are measured, for text that nothing breaks into blocks."""

    def measured(times: int) -> int:
        characters = 0

        def count(part: str) -> int:
            nonlocal characters
            characters += len(part)
            return count_tokens(part)

        chunk(markdown(text * times), size=50, overlap=8, count_tokens=count)
        return characters

    assert measured(4) < 6 * measured(1)


def test_a_long_text_can_be_given_up_halfway() -> None:
    class Cancelled(Exception):
        pass

    calls = iter(range(1000))

    def check() -> None:
        if next(calls) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        chunk(document("words " * 20_000), size=20, overlap=0, count_tokens=count_tokens, check=check)


def test_what_stands_above_a_passage_is_bounded_and_keeps_the_nearest_heading() -> None:
    context = contextual_text(title="T" * 300, section=["Outer " * 20, "Middle " * 10, "Inner"], text="body")
    title, path, blank, body = context.split("\n")
    assert (len(title), title[-1], blank, body) == (122, "…", "", "body")
    assert path == "## " + "Middle " * 10 + " > Inner"


def test_c_req_005_section_path_follows_the_headings_and_leaves_out_the_title() -> None:
    text = "# Guide\n\nIntro.\n\n## Setup\n\nDo it.\n\n### Linux\n\napt.\n\n## Use\n\nRun.\n\n# Appendix\n\nEnd.\n"
    chunks = chunk(markdown(text), size=100, overlap=0, count_tokens=count_tokens)
    assert [found.section for found in chunks] == [
        (),
        ("Setup",),
        ("Setup", "Linux"),
        ("Use",),
        ("Appendix",),
    ]
    assert chunks[2].text == "### Linux\n\napt."


def test_chunks_never_cross_a_heading() -> None:
    text = "".join(f"## Part {i}\n\n{'Some words here. ' * 3}\n\n" for i in range(10))
    chunks = chunk(markdown(text), size=500, overlap=50, count_tokens=count_tokens)
    assert [found.text.count("## ") for found in chunks] == [1] * 10


def test_a_heading_without_text_goes_with_its_first_subsection() -> None:
    chunks = chunk(markdown("# T\n\n## A\n\n### B\n\nBody.\n"), size=100, overlap=0, count_tokens=count_tokens)
    assert [(found.section, found.text) for found in chunks] == [(("A", "B"), "# T\n\n## A\n\n### B\n\nBody.")]


def test_a_list_set_in_headings_stays_together_under_its_parent() -> None:
    text = "# Farm\n\nAnimals.\n\n## Birds\n\nMany.\n\n### Duck\n\n### Goose\n\n### Swan\n\n## Cows\n\nFew.\n"
    chunks = chunk(markdown(text), size=100, overlap=0, count_tokens=count_tokens)
    assert [(found.section, found.text) for found in chunks][2] == (
        ("Birds",),
        "### Duck\n\n### Goose\n\n### Swan",
    )


def test_a_heading_is_not_a_chunk_of_its_own_before_a_long_block() -> None:
    text = "# T\n\n## Long\n\n" + "A sentence of five words. " * 40
    chunks = chunk(markdown(text), size=100, overlap=0, count_tokens=count_tokens)
    assert chunks[0].text.startswith("# T\n\n## Long\n\nA sentence")
    assert all(count_tokens(found.text) > 10 for found in chunks)


def test_bare_headings_of_two_slides_are_two_passages() -> None:
    text = "# One\n\n# Two\n\n## Three\n\nBody."
    headings = [
        Heading(offset=text.index(mark), level=level, text=mark)
        for mark, level in (("# One", 1), ("# Two", 1), ("## Three", 2))
    ]
    pages = tuple(PageStart(offset=heading.offset, number=n) for n, heading in enumerate(headings, start=1))
    together = chunk(document(text, headings=tuple(headings)), size=50, overlap=0, count_tokens=count_tokens)
    assert len(together) == 2
    apart = chunk(document(text, headings=tuple(headings), pages=pages), size=50, overlap=0, count_tokens=count_tokens)
    assert [found.page for found in apart] == [1, 2, 3]


@pytest.mark.parametrize("title", ["Title\n^^^^^\n", "=====\nTitle\n=====\n", "## Title ##\n"])
def test_lines_around_a_heading_are_no_body(title: str) -> None:
    text = f"{title}\nSub\n---\n\nBody."
    headings = (Heading(offset=0, level=1, text="Title"), Heading(offset=len(title) + 1, level=2, text="Sub"))
    (found,) = chunk(document(text, headings=headings), size=50, overlap=0, count_tokens=count_tokens)
    assert found.section == ("Title", "Sub")


def test_pages_are_those_of_the_start() -> None:
    text = "one two three.\n\nfour five six.\n\nseven eight."
    pages = (PageStart(offset=0, number=1), PageStart(offset=16, number=3), PageStart(offset=32, number=4))
    chunks = chunk(document(text, pages=pages), size=4, overlap=0, count_tokens=count_tokens)
    assert [(found.text, found.page) for found in chunks] == [
        ("one two three.", 1),
        ("four five six.", 3),
        ("seven eight.", 4),
    ]


def test_neighbours_overlap_by_whole_sentences_or_words() -> None:
    text = " ".join(f"Sentence number {i} is here." for i in range(60))
    chunks = chunk(document(text), size=30, overlap=12, count_tokens=count_tokens)
    shared = [text[after.start : before.end] for before, after in pairwise(chunks)]
    assert all(0 < count_tokens(part) <= 12 for part in shared)
    assert all(re.match(r"Sentence", part) for part in shared)


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_impossible_sizes_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap"):
        chunk(document("text"), size=size, overlap=overlap, count_tokens=count_tokens)


def test_c_req_005_contextual_text_prepends_title_and_section() -> None:
    assert contextual_text(title="Guide", section=("Setup", "Linux"), text="apt.") == (
        "# Guide\n## Setup > Linux\n\napt."
    )
    assert contextual_text(title="Guide", section=(), text="Intro.") == "# Guide\n\nIntro."
