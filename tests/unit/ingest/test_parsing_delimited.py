"""CSV and TSV: delimiters, headers, captions, ragged rows, quotes, and what no table can hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_app.parsing import ParsedDocument, UnableToParse, parse


def csv_lines(content: str | bytes, name: str = "a.csv") -> list[str]:
    content = content if isinstance(content, bytes) else content.encode()
    return parse(name=name, content=content).text.split("\n")


def rows_of(parsed: ParsedDocument) -> list[tuple[int, list[str]]]:
    """The number of the first row, and the lines that are these rows."""
    return [(rows.first, parsed.text[rows.start : rows.end].split("\n")) for rows in parsed.rows]


def refused(content: bytes) -> str:
    with pytest.raises(UnableToParse) as caught:
        parse(name="a.csv", content=content)
    assert caught.value.detail.endswith(".")
    return caught.value.code


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a,b\n1,2\n", "a.csv"),
        ("a;b\n1;2\n", "a.csv"),
        ("a|b\n1|2\n", "a.csv"),
        ("a\tb\n1\t2\n", "a.csv"),
        ("a\tb\r\n1\t2", "a.tsv"),
        ("a,b\n1,2\n", "a.tsv"),
        ("sep=:\na:b\n1:2\n", "a.csv"),
        ('"a", "b"\r1, "2"', "a.csv"),
    ],
    ids=["comma", "semicolon", "pipe", "tab", "tsv", "commas in a tsv", "declared", "blanks and old Mac lines"],
)
def test_the_delimiter_is_what_cuts_records_alike(content: str, name: str) -> None:
    parsed = parse(name=name, content=content.encode())
    assert parsed.text == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert rows_of(parsed) == [(2, ["| 1 | 2 |"])]
    assert parsed.title == "a"
    assert parsed.media_type == ("text/tab-separated-values" if name == "a.tsv" else "text/csv")


def test_decimal_commas_and_punctuation_are_no_delimiters() -> None:
    assert csv_lines("1,5;2,3\n1,6;2,4\n")[2:] == ["| 1,5 | 2,3 |", "| 1,6 | 2,4 |"]
    assert csv_lines("a\tb\n1,2,3\t4\n", "a.tab")[2:] == ["| 1,2,3 | 4 |"]
    prose = ["text", "Hello, this is, prose", "No comma here", "One, two", "three", "four"]
    assert csv_lines("\n".join(prose)) == prose


def test_quoted_cells_may_hold_lines_quotes_and_delimiters() -> None:
    assert csv_lines('name,note\n"Smith, J","one\ntwo ""x"""\nB,5" disk\n')[2:] == [
        '| Smith, J | one two "x" |',
        '| B | 5" disk |',
    ]


def test_a_quote_that_nothing_closes_takes_no_more_than_its_line() -> None:
    lines = csv_lines('a,b\n"x",y\n"open,1\nz,2\nw,3\n')
    assert lines[2:] == ["| x | y |", '| "open | 1 |', "| z | 2 |", "| w | 3 |"]


@pytest.mark.parametrize(
    ("content", "header", "first"),
    [
        ("Country,2019,2020\nA,12,13\n", "| Country | 2019 | 2020 |", 2),
        ("Region,2024-01-01\nA,3\n", "| Region | 2024-01-01 |", 2),
        ("1,2\na,b\n", "| 1 | 2 |", 2),
        ("5.1,setosa\n4.9,setosa\n", "|  |  |", 1),
        ("2024-01-01,a\n2024-01-02,b\n", "|  |  |", 1),
        ("1990,a\n1991,b\n", "|  |  |", 1),
        ("x,$ 5\ny,$ 6.50\n", "|  |  |", 1),
    ],
)
def test_a_first_row_of_data_is_no_header(content: str, header: str, first: int) -> None:
    parsed = parse(name="a.csv", content=content.encode())
    assert parsed.text.split("\n")[0] == header
    assert parsed.rows[0].first == first


def test_ragged_rows_are_filled_and_one_broken_row_does_not_widen_all() -> None:
    lines = csv_lines("1,2\na,b,c\nd,e\nf\n")
    assert lines == ["| 1 | 2 |  |", "| --- | --- | --- |", "| a | b | c |", "| d | e |  |", "| f |  |  |"]
    lines = csv_lines("a,b\n" + "x,y\n" * 300 + "1,2,3,4,5,6,7\n")
    assert lines[:3] == ["| a | b |", "| --- | --- |", "| x | y |"]
    assert lines[-1] == "| 1 | 2; 3; 4; 5; 6; 7 |"


def test_captions_and_tables_below_each_other() -> None:
    parsed = parse(name="a.csv", content=b"Cups,,\nTeam,Won,\nBlues,1,\n\n,,\nA,B,C\nx,y,z\n\nTotal,5\n")
    assert parsed.text.startswith("Cups\n\n| Team | Won |")
    assert rows_of(parsed) == [(3, ["| Blues | 1 |  |"]), (6, ["| x | y | z |"]), (7, ["| Total | 5 |"])]


def test_blank_lines_do_not_cut_a_table() -> None:
    assert csv_lines("a,b\n\nx,1\n\ny,2\n") == ["| a | b |", "| --- | --- |", "| x | 1 |", "| y | 2 |"]


def test_rows_without_names_below_a_gap_have_those_above() -> None:
    parsed = parse(name="a.csv", content=b"a,b\nx,1\n,\ny,2\nz,3\n,\nTotal,6\n")
    assert parsed.text.count("| a | b |") == 3
    assert rows_of(parsed) == [
        (2, ["| x | 1 |"]),
        (4, ["| y | 2 |", "| z | 3 |"]),
        (7, ["| Total | 6 |"]),
    ]


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("utf-8-sig", "Name,Stadt\nMüller,Köln\nGroß,Ulm\n"),
        ("utf-16", "Name,Stadt\nMüller,Köln\nGroß,Ulm\n"),
        ("cp1252", "Name,Stadt\nMüller,Köln\nGroß,Ulm\n"),
        ("cp932", "名前,住所\n佐藤太郎,東京\n三木英子,大阪\n"),
    ],
)
def test_csv_in_any_encoding(encoding: str, words: str) -> None:
    assert csv_lines(words.encode(encoding))[2] == "| " + words.split("\n")[1].replace(",", " | ") + " |"


def test_what_no_text_may_hold_is_taken_out() -> None:
    content = b"name,of a column that is long enough\nx\0y,2\n"
    assert csv_lines(content)[2] == "| xy | 2 |"
    assert csv_lines("a,b\nx\u2028y,☃ 🎉\n")[2] == "| x y | ☃ 🎉 |"


def test_formulas_are_text() -> None:
    assert csv_lines("name,cmd\nx,\"=cmd|' /C calc'!A0\"\n")[2] == "| x | =cmd\\|' /C calc'!A0 |"


def test_long_cells_are_kept_whole() -> None:
    word = "x" * 300_000
    assert csv_lines(f"a,b\n{word},2\n")[2] == f"| {word} | 2 |"


@pytest.mark.parametrize("content", [b",,,\n,,,\n", b'""\n', b" \t\n"])
def test_csv_without_a_filled_cell_is_empty(content: bytes) -> None:
    assert refused(content) == "empty_file"


def test_more_cells_than_any_document_holds_are_refused() -> None:
    assert refused(b"," * 7_000_000 + b"x") == "too_large"


def test_a_table_that_would_be_mostly_padding_is_read_row_by_row() -> None:
    wide = ",".join(map(str, range(40_000)))
    lines = csv_lines("\n".join(["a,b"] * 200 + [wide] * 3))
    assert lines[:2] == ["a; b", "a; b"]
    assert lines[-1].endswith("39998; 39999")


@given(st.text(alphabet='a1,;\t|"\n =', max_size=200))
def test_no_words_are_lost_and_rows_are_lines(text: str) -> None:
    try:
        parsed = parse(name="a.csv", content=text.encode())
    except UnableToParse:
        return
    assert parsed.text.count("a") >= text.count("a")
    assert all(parsed.text[rows.end :][:1] in ("", "\n") for rows in parsed.rows)
