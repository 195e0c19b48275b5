"""Tables stay readable in pieces, sheets keep their rows; windows and whole documents for those who ask."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_app.errors import InvalidInput
from ingest_app.chunking import RowRange, TextChunk, chunk
from ingest_app.chunking_settings import Chunking
from ingest_app.parsing import Heading, PageStart, ParsedDocument
from ingest_app.parsing.writing import WIDE_HEADER, DocumentWriter

HEADER = "| Name | Born |\n| --- | --- |\n"


def count_tokens(text: str) -> int:
    """Words and signs, as in the tests of chunking."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def sheet(rows: int, *, name: str = "People", first_row: int = 1, columns: int = 2) -> DocumentWriter:
    writer = DocumentWriter()
    writer.heading(name, level=2)
    body = [[f"name{n}", *[f"{1000 + n}"] * (columns - 1)] for n in range(rows)]
    header = ["Name", "Born"] if columns == 2 else [f"A long name of a column {n}" for n in range(columns)]
    writer.table([header, *body], first_row=first_row, sheet=name)
    return writer


def written(writer: DocumentWriter) -> ParsedDocument:
    return writer.document(media_type="text/csv", name="people.csv")


def passages(document: ParsedDocument, size: int = 60) -> list[TextChunk]:
    return chunk(document, size=size, overlap=size // 4, count_tokens=count_tokens)


def test_each_piece_of_a_long_table_has_its_header_and_whole_rows() -> None:
    document = written(sheet(50))
    found = passages(document)
    assert len(found) > 5
    assert all(count_tokens(part.text) <= 60 for part in found)
    for part in found[1:]:
        assert part.text == HEADER + document.text[part.start : part.end]
        assert all(re.fullmatch(r"\| name\d+ \| \d{4} \|", line) for line in part.text.split("\n")[2:])
    assert found[0].text.startswith("## People\n\n" + HEADER + "| name0 |")
    rows = [line for part in found for line in document.text[part.start : part.end].split("\n") if "name" in line]
    assert rows == [f"| name{n} | {1000 + n} |" for n in range(50)], "each row is in one piece"


def test_pieces_know_the_rows_they_hold() -> None:
    found = passages(written(sheet(50, first_row=4)))
    ranges = [part.rows for part in found if part.rows]
    assert (ranges[0].first, ranges[-1].last) == (5, 54), "the header is row 4"
    assert all(after.first == before.last + 1 for before, after in itertools.pairwise(ranges))
    for part in found:
        assert part.rows == RowRange(
            sheet="People",
            first=5 + int(re.search(r"name(\d+)", part.text)[1]),  # type: ignore[index]
            last=5 + int(re.findall(r"name(\d+)", part.text)[-1]),
        )


def test_a_table_that_fits_is_not_taken_out_of_its_text() -> None:
    writer = DocumentWriter()
    writer.block("Before it.")
    writer.table([["a", "b"], ["1", "2"]])
    writer.block("After it.")
    assert [part.text for part in passages(written(writer))] == [
        "Before it.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nAfter it."
    ]


def test_a_wide_table_names_its_columns_in_each_row() -> None:
    document = written(sheet(5, columns=20))
    assert sum(len(f"A long name of a column {n}") for n in range(20)) > WIDE_HEADER
    line = document.text.split("\n")[2]
    assert line.startswith("A long name of a column 0: name0; A long name of a column 1: 1000; A long")
    found = passages(document, size=450)
    assert [part.rows and (part.rows.first, part.rows.last) for part in found] == [(2, 3), (4, 5), (6, 6)]


def test_a_row_that_is_longer_than_a_piece_is_cut() -> None:
    writer = DocumentWriter()
    writer.table([["a", "b"], ["short", "row"], ["word " * 200, "end"], ["last", "row"]], first_row=1)
    found = passages(written(writer), size=40)
    assert all(count_tokens(part.text) <= 40 for part in found)
    assert {part.rows and part.rows.first for part in found[1:-1]} == {3}
    assert sum(part.text.count("word") for part in found) >= 200


def test_a_header_that_leaves_no_room_is_not_repeated() -> None:
    writer = DocumentWriter()
    writer.table([["many words in a header " * 3, "b"], *([f"row {n}", "x"] for n in range(20))])
    found = passages(written(writer), size=24)
    assert all(count_tokens(part.text) <= 24 for part in found)
    assert sum("many words" in part.text for part in found) <= 2


def test_sheets_of_one_section_do_not_mix_their_rows() -> None:
    writer = DocumentWriter()
    writer.table([["a", "b"], ["1", "2"]], first_row=1, sheet="One")
    writer.table([["a", "b"], ["3", "4"]], first_row=9, sheet="Two")
    (found,) = passages(written(writer))
    assert found.rows == RowRange(sheet="One", first=2, last=2)


def test_a_table_of_nothing_but_a_header_is_a_row_itself() -> None:
    writer = DocumentWriter()
    writer.table([["a", "b"]], first_row=7)
    (found,) = passages(written(writer))
    assert found.rows == RowRange(sheet="", first=7, last=7)


WINDOWS = Chunking.of({"strategy": "fixed", "size": 16, "overlap": 4}, size=200, overlap=30)


@settings(deadline=None)
@given(text=st.text(st.sampled_from("ab1 .\n漢\t#|"), max_size=400), size=st.integers(16, 40), share=st.floats(0, 0.5))
def test_windows_cover_the_text_and_keep_to_their_size(text: str, size: int, share: float) -> None:
    chunking = Chunking.of({"strategy": "fixed", "size": size, "overlap": int(size * share)}, size=1, overlap=0)
    document = ParsedDocument(text=text, media_type="text/plain", title="T")
    found = chunking.cut(document, count_tokens=count_tokens)
    covered = {offset for part in found for offset in range(part.start, part.end)}
    assert [i for i, character in enumerate(text) if not character.isspace() and i not in covered] == []
    assert all(part.text == text[part.start : part.end] and count_tokens(part.text) <= size for part in found)
    assert [part.start for part in found] == sorted({part.start for part in found})


def test_windows_overlap_and_know_where_they_begin() -> None:
    text = "# A\n\n" + "one two three four " * 6 + "\n\n# B\n\n" + "five six seven eight " * 6
    document = ParsedDocument(
        text=text,
        media_type="text/markdown",
        title="T",
        is_markdown=True,
        headings=(Heading(offset=0, level=1, text="A"), Heading(offset=text.index("# B"), level=1, text="B")),
        pages=(PageStart(offset=0, number=1), PageStart(offset=text.index("# B"), number=2)),
    )
    found = WINDOWS.cut(document, count_tokens=count_tokens)
    assert [(part.section, part.page) for part in (found[0], found[-1])] == [(("A",), 1), (("B",), 2)]
    assert any("# B" in part.text and part.section == ("A",) for part in found), "windows cross headings"
    assert all(4 >= count_tokens(text[b.start : a.end]) > 0 for a, b in itertools.pairwise(found))


def test_a_document_can_stay_whole() -> None:
    document = written(sheet(50))
    (found,) = Chunking.of({"strategy": "whole"}, size=16, overlap=0).cut(document, count_tokens=count_tokens)
    assert found.text == document.text


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"strategy": "magic"}, "chunking.strategy: must be one of structure, fixed, whole."),
        ({"size": 15}, "chunking.size: must be 16 to 8192 tokens."),
        ({"size": True}, "chunking.size: must be a whole number of tokens."),
        ({"size": 100, "overlap": 51}, "chunking.overlap: must be 0 to half of size."),
        ({"chunk": 1}, "chunking.chunk: unknown. Send strategy, size, overlap, parent_size."),
    ],
)
def test_settings_that_cannot_be_are_named(own: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        Chunking.of(own, size=200, overlap=30)


def test_what_a_collection_leaves_open_is_the_servers() -> None:
    assert Chunking.of({}, size=200, overlap=30) == Chunking.of(
        {"strategy": "structure", "size": 200, "overlap": 30}, size=64, overlap=0
    )
    assert Chunking.of({"size": 40}, size=200, overlap=30).overlap == 20
