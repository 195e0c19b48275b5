"""XLSX: values as shown, sheets, sub-tables, rows, and workbooks made to do harm."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl  # type: ignore[import-untyped]
import pytest
from openpyxl.chart import BarChart, Reference  # type: ignore[import-untyped]
from openpyxl.comments import Comment  # type: ignore[import-untyped]
from openpyxl.worksheet.worksheet import Worksheet  # type: ignore[import-untyped]

from ingest_app.parsing import ParsedDocument, UnableToParse, parse
from ingest_app.parsing.number_formats import builtin_code, shown_number

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
BOMB = '<!DOCTYPE x [<!ENTITY l0 "laugh">' + "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(12))


def rows_of(parsed: ParsedDocument) -> list[tuple[str, int, list[str]]]:
    """Sheet, number of the first row, and the lines that are these rows."""
    return [(rows.sheet, rows.first, parsed.text[rows.start : rows.end].split("\n")) for rows in parsed.rows]


def refused(content: bytes) -> str:
    with pytest.raises(UnableToParse) as caught:
        parse(name="a.xlsx", content=content)
    assert caught.value.detail.endswith(".")
    assert "/" not in caught.value.detail
    return caught.value.code


def workbook(build: Callable[[openpyxl.Workbook], None]) -> bytes:
    book = openpyxl.Workbook()
    build(book)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def sheet(build: Callable[[Worksheet], None]) -> bytes:
    return workbook(lambda book: build(book.active))


def package(page: str, **parts: str) -> bytes:
    """A workbook with one sheet from its XML; `strings` and `styles` are XML, too."""
    relations = "".join(
        f'<Relationship Id="{part}" Type="{RELATIONS}/{kind}" Target="{part}.xml"/>'
        for part, kind in [("sheet", "worksheet"), ("strings", "sharedStrings"), ("styles", "styles")]
        if part == "sheet" or part in parts
    )
    book = '<sheets><sheet name="Sheet1" sheetId="1" r:id="sheet"/></sheets>'
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}">{book}</workbook>')
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{relations}</Relationships>")
        for name, xml in {"sheet": page, **parts}.items():
            archive.writestr(f"xl/{name}.xml", xml)
    return stream.getvalue()


def cells(rows: str, after: str = "") -> str:
    return f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData>{after}</worksheet>'


def words(reference: str, text: str) -> str:
    return f'<c r="{reference}" t="inlineStr"><is><t>{text}</t></is></c>'


def test_values_are_read_as_shown() -> None:
    expected = {
        "1,234.50": (1234.5, "#,##0.00"),
        "12.5%": (0.125, "0.0%"),
        "7": (7.0, "General"),
        "0.3": (0.1 + 0.2, "General"),
        "$99.90": (99.9, '"$"#,##0.00'),
        "00042": (42, "00000"),
        "2024-03-01": (dt.date(2024, 3, 1), "dd/mm/yyyy"),
        "2024-03-01 14:30": (dt.datetime(2024, 3, 1, 14, 30), "d mmm yyyy h:mm"),  # noqa: DTZ001
        "09:05": (dt.time(9, 5), "h:mm AM/PM"),
        "26:00:00": (dt.timedelta(hours=26), "[h]:mm:ss"),
        "TRUE": (True, "General"),
        "#DIV/0!": ("#DIV/0!", "General"),
        r"a\|b c": ("a|b\nc", "General"),
    }

    def build(page: Worksheet) -> None:
        page.append(["Name", "Value"])
        for value, code in expected.values():
            page.append(["x", value])
            page.cell(page.max_row, 2).number_format = code

    text = parse(name="a.xlsx", content=sheet(build)).text
    assert text.split("\n")[2:] == [f"| x | {shown} |" for shown in expected]


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        ("-1234.5", "#,##0.00_);(#,##0.00)", "(1,234.50)"),
        ("-1234.5", "#,##0.0", "-1,234.5"),
        ("0", '_(* #,##0_);_(* (#,##0);_(* "-"_)', "-"),
        ("99.9", "[$€-407]#,##0.00", "€99.90"),
        ("99.9", '#,##0.00\\ "kr"', "99.90 kr"),
        ("12345678", '0.0,,"M"', "12.3M"),
        ("123456789", "000\\-00\\-0000", "123-45-6789"),
        ("12345", "0.00E+00", "1.23E+04"),
        ("2.345", "0.00", "2.35"),
        ("-0.001", "0.00", "0.00"),
        ("5", "0.##", "5"),
        ("2.5", "# ?/?", "2.5"),
        ("3", "[>2]0.0;0", "3"),
        ("42", 'General" kg"', "42 kg"),
        ("42", ";;;", ""),
        ("1e-7", "General", "1E-07"),
        ("123456789012345678", "General", "1.23456789012346E+17"),
        ("1e400", "0.00", "1e400"),
        ("nan", "General", "nan"),
        ("99999999999", "yyyy-mm-dd", "########"),
        ("45000", builtin_code(57), "2023-03-15"),
        ("0.5", builtin_code(9), "50%"),
        ("1", "0" * 500 + "." + "0" * 500, "0" * 499 + "1." + "0" * 30),
    ],
)
def test_number_formats(value: str, code: str, expected: str) -> None:
    assert shown_number(value, code) == expected


def test_dates_counted_from_1904() -> None:
    assert shown_number("43538", "yyyy-mm-dd", from_1904=True) == "2023-03-15"


def test_sheets_are_headings_and_hidden_ones_are_left_out() -> None:
    def build(book: openpyxl.Workbook) -> None:
        book.properties.title = "Annual report"
        book.active.title = "Sales"
        book.active.append(["a", "b"])
        for name, state in [("Secret", "hidden"), ("Deep", "veryHidden"), ("Übersicht", "visible")]:
            page = book.create_sheet(name)
            page.append([f"words of {name}"])
            page.sheet_state = state
        book.create_chartsheet("Only a chart")

    parsed = parse(name="a.xlsx", content=workbook(build))
    assert parsed.text == "## Sales\n\n| a | b |\n\n## Übersicht\n\nwords of Übersicht"
    assert [(h.level, h.text, parsed.text[h.offset :].split("\n")[0]) for h in parsed.headings] == [
        (2, "Sales", "## Sales"),
        (2, "Übersicht", "## Übersicht"),
    ]
    assert parsed.title == "Annual report"


@pytest.mark.parametrize(("name", "has_heading"), [("Sheet1", False), ("Tabelle1", False), ("Umsatz", True)])
def test_a_lone_sheet_is_a_heading_if_somebody_named_it(name: str, has_heading: bool) -> None:
    def build(page: Worksheet) -> None:
        page.title = name
        page["A1"] = "x"

    parsed = parse(name="b.xlsx", content=sheet(build))
    assert bool(parsed.headings) == has_heading
    assert parsed.title == "b"
    assert parsed.rows[0].sheet == name


def test_sub_tables_captions_and_row_numbers() -> None:
    places = {
        **{"B2": "Sales 2024", "B3": "Region", "D3": 2024, "B4": "North", "D4": 5, "B5": "South", "D5": 7},
        **{"B8": "East", "D8": 9, "A11": "A note", "C14": "x", "C15": "y", "XFD20": "far", "A20": "away"},
    }

    def build(page: Worksheet) -> None:
        for place, value in places.items():
            page[place] = value

    parsed = parse(name="a.xlsx", content=sheet(build))
    assert rows_of(parsed) == [
        ("Sheet", 4, ["| North | 5 |", "| South | 7 |"]),
        ("Sheet", 8, ["| East | 9 |"]),
        ("Sheet", 11, ["A note"]),
        ("Sheet", 15, ["y"]),
        ("Sheet", 20, ["| away | far |"]),
    ]
    assert parsed.text.startswith("Sales 2024\n\n| Region | 2024 |\n| --- | --- |\n| North | 5 |")
    assert "| Region | 2024 |\n| --- | --- |\n| East | 9 |" in parsed.text


def test_merged_cells_are_said_once_and_comments_never() -> None:
    def build(page: Worksheet) -> None:
        page.append(["wide", None, "c"])
        page.append(["1", "2", "3"])
        page.merge_cells("A1:B1")
        page["A2"].comment = Comment("a comment", "somebody")
        page["A2"].hyperlink = "http://example.org/"

    assert parse(name="a.xlsx", content=sheet(build)).text == "| wide |  | c |\n| --- | --- | --- |\n| 1 | 2 | 3 |"


def test_what_a_merged_range_covers_is_not_seen() -> None:
    # LibreOffice keeps it in the file.
    rows = f'<row r="1">{words("A1", "seen")}{words("B1", "covered")}{words("C1", "z")}</row>'
    rows += f'<row r="2">{words("A2", "covered")}</row>'
    merged = '<mergeCells><mergeCell ref="A1:B2"/><mergeCell ref="nonsense"/></mergeCells>'
    assert parse(name="a.xlsx", content=package(cells(rows, merged))).text == "| seen | z |"


def test_formulas_give_results_or_themselves_where_no_result_exists() -> None:
    content = sheet(lambda page: page.append([1, 2, "=SUM(A1:B1)"]))
    assert parse(name="a.xlsx", content=content).text == "| 1 | 2 | =SUM(A1:B1) |"
    row = '<row r="1"><c r="A1"><f>1+1</f><v>2</v></c><c r="B1"><f>NA()</f></c><c r="C1" t="str"><f>T()</f><v>w</v></c>'
    assert parse(name="a.xlsx", content=package(cells(row + "</row>"))).text == "| 2 | w |"


def test_strings_in_runs_without_reading_aids_and_with_escapes() -> None:
    strings = (
        f'<sst xmlns="{MAIN}"><si><r><t>to</t></r><r><rPr><b/></rPr><t xml:space="preserve">gether </t></r></si>'
        "<si><t>東京</t><rPh sb='0' eb='2'><t>トウキョウ</t></rPh></si><si><t>a_x000D_b_xD800_c</t></si></sst>"
    )
    row = "".join(f'<c t="s"><v>{index}</v></c>' for index in (0, 1, 2, 99))
    content = package(cells(f"<row>{row}</row>"), strings=strings)
    assert parse(name="a.xlsx", content=content).text == "| together | 東京 | a bc |"


def test_a_workbook_whose_styles_openpyxl_refuses_is_read() -> None:
    styles = (
        f'<styleSheet xmlns="{MAIN}"><fills><fill><patternFill patternType="nonsense"/></fill></fills>'
        '<numFmts><numFmt numFmtId="170" formatCode="0.0%"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="170"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    )
    row = '<row><c s="1"><v>0.5</v></c><c s="2"><v>45000</v></c><c s="77"><v>3</v></c></row>'
    content = package(cells(row), styles=styles)
    assert parse(name="a.xlsx", content=content).text == "| 50.0% | 2023-03-15 | 3 |"


def test_chart_titles_are_read() -> None:
    def build(page: Worksheet) -> None:
        page.append(["n"])
        page.append([3])
        chart = BarChart()
        chart.title = "Rising sales"
        chart.add_data(Reference(page, min_col=1, min_row=1, max_row=2), titles_from_data=True)
        page.add_chart(chart, "C1")

    assert parse(name="a.xlsx", content=sheet(build)).text == "n\n3\n\nRising sales"


def test_words_in_shapes_are_read() -> None:
    drawing = "http://schemas.openxmlformats.org/drawingml/2006"
    shape = (
        f'<d:wsDr xmlns:d="{drawing}/spreadsheetDrawing" xmlns:a="{drawing}/main"><d:sp><d:txBody>'
        "<a:p><a:r><a:t>Mind </a:t></a:r><a:r><a:t>the gap</a:t></a:r></a:p><a:p/>"
        "<a:p><a:r><a:t>twice</a:t></a:r></a:p></d:txBody></d:sp></d:wsDr>"
    )
    stream = io.BytesIO(package(cells("<row><c><v>1</v></c></row>")))
    with zipfile.ZipFile(stream, "a") as archive:
        relation = f'<Relationship Id="d" Type="{RELATIONS}/drawing" Target="drawings/d.xml"/>'
        archive.writestr("xl/_rels/sheet.xml.rels", f"<Relationships>{relation}</Relationships>")
        archive.writestr("xl/drawings/d.xml", shape)
    assert parse(name="a.xlsx", content=stream.getvalue()).text == "1\n\nMind the gap\ntwice"


def test_a_sheet_of_claimed_size_costs_what_it_holds() -> None:
    far = '<row r="1048576.0"><c r="XFD1048576"><v>3</v></c></row><row><c><v>4</v></c></row>'
    page = cells('<row r="1" spans="1:16384"><c r="A1"><v>1</v></c></row>' + far)
    page = page.replace("<sheetData>", '<dimension ref="A1:XFD1048576"/><sheetData>')
    parsed = parse(name="a.xlsx", content=package(page))
    assert rows_of(parsed) == [("Sheet1", 1, ["1"]), ("Sheet1", 1_048_577, ["| 4 |  |"])]


def test_external_entities_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("root:x:0:0")
    doctype = f'<!DOCTYPE sst [<!ENTITY x SYSTEM "file://{secret}">]>'
    strings = f'{doctype}<sst xmlns="{MAIN}"><si><t>before &x;</t></si></sst>'
    content = package(cells('<row><c t="s"><v>0</v></c></row>'), strings=strings)
    assert parse(name="a.xlsx", content=content).text == "before"


@pytest.mark.parametrize("place", ["strings", "attribute", "sheet", "styles"])
def test_entities_that_multiply_are_refused(place: str) -> None:
    page = cells('<row><c t="s"><v>0</v></c></row>')
    parts = {"strings": f'<sst xmlns="{MAIN}"><si><t>x</t></si></sst>', "styles": f'<styleSheet xmlns="{MAIN}"/>'}
    if place == "sheet":
        page = BOMB + "]>" + cells(f"<row>{words('A1', '&l12;')}</row>")
    elif place == "attribute":
        parts["strings"] = f'{BOMB}]><sst xmlns="{MAIN}" count="&l12;"><si><t>x</t></si></sst>'
    else:
        tag = "sst" if place == "strings" else "styleSheet"
        parts[place] = f'{BOMB}]><{tag} xmlns="{MAIN}"><si><t>&l12;</t></si></{tag}>'
    assert refused(package(page, **parts)) == "corrupt_file"


def test_workbooks_that_unpack_to_too_much_are_refused() -> None:
    assert refused(package(cells("<row/>" + " " * 40_000_000))) == "too_large"


def test_more_words_than_a_document_holds_are_refused() -> None:
    strings = f'<sst xmlns="{MAIN}"><si><t>{"word " * 2000}</t></si></sst>'
    row = '<row><c t="s"><v>0</v></c></row>'
    assert refused(package(cells(row * 2_100), strings=strings)) == "too_large"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(content[content.index(b"sheet1.xml") + 20 :][:40], bytes(40)),
        lambda _: package("<worksheet><sheetData><row><c><v>1</v>"),
        lambda _: package(cells("<a>" * 100_000)),
        lambda _: package(cells('<row r="x"/>')),
        lambda _: package(cells('<row r="99999999999"/>')),
        lambda _: package(cells('<row><c t="s"><v>-</v></c></row>')),
    ],
    ids=["truncated", "zeroed", "cut sheet", "deep", "no row number", "no such row", "no string"],
)
def test_damaged_workbooks_are_called_corrupt(damage: Callable[[bytes], bytes]) -> None:
    assert refused(damage(sheet(lambda page: page.append(["a"])))) == "corrupt_file"


def test_workbooks_with_nothing_to_read() -> None:
    assert refused(sheet(lambda _: None)) == "empty_file"
    encrypted = bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le")
    assert refused(encrypted) == "encrypted"
