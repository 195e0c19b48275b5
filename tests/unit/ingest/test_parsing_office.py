"""PDF and DOCX, built on the spot: pages, headers, tables, structure, and packages made to do harm."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import pypdf
import pypdfium2  # type: ignore[import-untyped]
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from ingest_app.parsing import ParsedDocument, UnableToParse, parse, sniff
from ingest_app.parsing.running_lines import without_running_lines
from tests.unit.ingest.pdf_files import pdf


def docx_file(build: Callable[[docx.document.Document], None]) -> bytes:
    document = docx.Document()
    build(document)
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def repacked(content: bytes, **parts: bytes) -> bytes:
    """The package with parts replaced; names are given with _ for / and without their .xml."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            replacement = parts.get(entry.filename.removesuffix(".xml").replace("/", "_"))
            new.writestr(entry.filename, old.read(entry) if replacement is None else replacement)
    return stream.getvalue()


def refused(name: str, content: bytes) -> str:
    with pytest.raises(UnableToParse) as caught:
        parse(name=name, content=content)
    assert caught.value.detail.endswith(".")
    return caught.value.code


def lines_at_headings(parsed: ParsedDocument) -> list[str]:
    return [parsed.text[heading.offset :].split("\n")[0] for heading in parsed.headings]


def test_pdf_pages_start_where_their_text_starts() -> None:
    parsed = parse(name="a.pdf", content=pdf([["First page."], [], ["Third page.", "More."]], title="Report"))
    assert parsed.title == "Report"
    assert [(page.number, parsed.text[page.offset :].split("\n")[0]) for page in parsed.pages] == [
        (1, "First page."),
        (3, "Third page."),
    ]


def test_pdf_headers_are_kept_once_and_page_numbers_never() -> None:
    pages = [["ACME Handbook 2024", f"Body of page {n} with {n * 7} items.", f"Page {n} of 6"] for n in range(1, 7)]
    text = parse(name="a.pdf", content=pdf(pages)).text
    assert text.count("ACME Handbook 2024") == 1
    assert "of 6" not in text
    assert all(f"Body of page {n} with {n * 7} items." in text for n in range(1, 7))


def test_running_lines_spare_content_that_differs_and_short_documents() -> None:
    totals = [f"Header\nText {n}\nTotal {n * n * 100}" for n in range(1, 7)]
    assert [page.split("\n")[-1] for page in without_running_lines(totals)] == [
        f"Total {n * n * 100}" for n in range(1, 7)
    ]
    short = ["Same line"] * 3
    assert without_running_lines(short) == short


def test_pdf_outline_gives_headings() -> None:
    writer = pypdf.PdfWriter(io.BytesIO(pdf([["1 Alpha", "Text one."], ["2 Beta", "Text two.", "2.1 Gamma"]])))
    writer.add_outline_item(title="Alpha", page_number=0)
    beta = writer.add_outline_item(title="Beta", page_number=1)
    writer.add_outline_item(title="Gamma", page_number=1, parent=beta)
    writer.add_outline_item(title="Nowhere to be read", page_number=1)
    stream = io.BytesIO()
    writer.write(stream)
    parsed = parse(name="a.pdf", content=stream.getvalue())
    assert [(heading.level, heading.text) for heading in parsed.headings] == [(1, "Alpha"), (1, "Beta"), (2, "Gamma")]
    assert lines_at_headings(parsed) == ["1 Alpha", "2 Beta", "2.1 Gamma"]


def test_pdf_without_text_is_called_scanned() -> None:
    assert refused("a.pdf", pdf([[], []])) == "scanned_pdf"


def test_pdf_with_password_is_called_encrypted() -> None:
    writer = pypdf.PdfWriter(io.BytesIO(pdf([["Secret."]])))
    writer.encrypt("password", algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    assert refused("a.pdf", stream.getvalue()) == "encrypted"


def test_pdf_that_only_its_owner_may_change_is_read() -> None:
    writer = pypdf.PdfWriter(io.BytesIO(pdf([["Open to all."]])))
    writer.encrypt("", owner_password="owner", algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    assert parse(name="a.pdf", content=stream.getvalue()).text == "Open to all."


@pytest.mark.parametrize("content", [b"%PDF-1.7\n" + b"noise" * 50, pdf([["Text."]])[:200]])
def test_broken_pdf_is_called_corrupt(content: bytes) -> None:
    assert refused("a.pdf", content) == "corrupt_file"


def test_pypdf_stands_in_where_pdfium_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def __init__(self, content: bytes) -> None:
            raise pypdfium2.PdfiumError("Data format error", err_code=3)

    monkeypatch.setattr(pypdfium2, "PdfDocument", Refusing)
    parsed = parse(name="a.pdf", content=pdf([["First."], ["Second."]], title="Report"))
    assert (parsed.title, parsed.text, len(parsed.pages)) == ("Report", "First.\n\nSecond.", 2)


def test_filled_form_fields_are_part_of_the_text() -> None:
    writer = pypdf.PdfWriter(io.BytesIO(pdf([["Name of the applicant:"]])))
    page = writer.pages[0]
    name = pypdf.generic.NameObject
    kinds = {"/Type": "/Annot", "/Subtype": "/Widget", "/FT": "/Tx"}
    widget = pypdf.generic.DictionaryObject({name(key): name(kind) for key, kind in kinds.items()})
    widget[name("/T")] = pypdf.generic.TextStringObject("applicant")
    widget[name("/DA")] = pypdf.generic.TextStringObject("/Helv 12 Tf 0 g")
    widget[name("/Rect")] = pypdf.generic.ArrayObject(pypdf.generic.NumberObject(n) for n in (72, 600, 400, 620))
    reference = writer._add_object(widget)
    page[name("/Annots")] = pypdf.generic.ArrayObject([reference])
    form = pypdf.generic.DictionaryObject({name("/Fields"): pypdf.generic.ArrayObject([reference])})
    form[name("/DR")] = page["/Resources"]
    writer.root_object[name("/AcroForm")] = form
    writer.update_page_form_field_values(page, {"applicant": "Ada Lovelace"}, auto_regenerate=False)
    stream = io.BytesIO()
    writer.write(stream)
    assert "Ada Lovelace" in parse(name="a.pdf", content=stream.getvalue()).text


def test_docx_structure_becomes_markdown() -> None:
    def build(document: docx.document.Document) -> None:
        document.add_heading("The title", 0)
        document.add_heading("Part one", 1)
        document.add_paragraph("Some text.")
        document.add_paragraph("first", style="List Bullet")
        document.add_paragraph("second", style="List Bullet")
        document.add_heading("Detail", 2)
        table = document.add_table(rows=2, cols=2)
        for cell, words in zip(table._cells, ["Key", "Value", "a|b", "1"], strict=True):
            cell.text = words

    parsed = parse(name="a.docx", content=docx_file(build))
    assert parsed.title == "The title"
    assert parsed.text == (
        "# The title\n\n# Part one\n\nSome text.\n\n- first\n- second\n\n## Detail\n\n"
        "| Key | Value |\n| --- | --- |\n| a\\|b | 1 |"
    )
    assert lines_at_headings(parsed) == ["# The title", "# Part one", "## Detail"]


def test_docx_headings_by_outline_level_and_localised_name() -> None:
    def build(document: docx.document.Document) -> None:
        kind = WD_STYLE_TYPE.PARAGRAPH
        document.styles.add_style("Überschrift 2", kind)
        derived = document.styles.add_style("Kapitel", kind)
        derived.base_style = document.styles["Heading 1"]
        document.add_paragraph("Kapitel eins", style="Kapitel")
        document.add_paragraph("Abschnitt", style="Überschrift 2")
        plain = document.add_paragraph("Nur Gliederung")
        plain._p.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="2"/>'))

    parsed = parse(name="a.docx", content=docx_file(build))
    assert [(heading.level, heading.text) for heading in parsed.headings] == [
        (1, "Kapitel eins"),
        (2, "Abschnitt"),
        (3, "Nur Gliederung"),
    ]


def test_docx_reads_what_python_docx_leaves_out_and_skips_what_was_deleted() -> None:
    def build(document: docx.document.Document) -> None:
        body = document.element.body
        space = nsdecls("w") + ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
        for xml in (
            f"<w:sdt {space}><w:sdtContent><w:p><w:r><w:t>in a control</w:t></w:r></w:p></w:sdtContent></w:sdt>",
            f"<w:p {space}><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
            "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>",
            f"<w:p {space}><m:oMath><m:r><m:t>E=mc</m:t></m:r></m:oMath></w:p>",
            f"<w:p {space}><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>in a box</w:t></w:r></w:p>"
            "</w:txbxContent></w:pict></w:r></w:p>",
        ):
            body.insert(len(body) - 1, parse_xml(xml))

    assert parse(name="a.docx", content=docx_file(build)).text == "in a control\n\ninserted\n\nE=mc\n\nin a box"


def test_docx_merged_and_nested_cells_are_said_once() -> None:
    def build(document: docx.document.Document) -> None:
        table = document.add_table(rows=3, cols=3)
        table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
        table.cell(1, 0).merge(table.cell(2, 0)).text = "tall"
        inner = table.cell(1, 1).add_table(rows=1, cols=2)
        inner.cell(0, 0).text, inner.cell(0, 1).text = "in", "ner"
        table.cell(2, 2).text = "end"

    text = parse(name="a.docx", content=docx_file(build)).text
    assert text.split("\n") == [
        "| wide |  |  |",
        "| --- | --- | --- |",
        "| tall | in, ner |  |",
        "|  |  | end |",
    ]


def with_entities(declarations: str, words: str) -> bytes:
    document = (
        f'<?xml version="1.0"?><!DOCTYPE l [{declarations}]><w:document {nsdecls("w")}>'
        f"<w:body><w:p><w:r><w:t>{words}</w:t></w:r></w:p></w:body></w:document>"
    )
    return repacked(docx_file(lambda _: None), word_document=document.encode())


def test_docx_external_entities_are_not_resolved(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("root:x:0:0")
    content = with_entities(f'<!ENTITY x SYSTEM "file://{secret}">', "before &x;")
    assert parse(name="a.docx", content=content).text == "before"


def test_docx_entities_that_multiply_are_refused() -> None:
    bomb = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(12))
    assert refused("a.docx", with_entities(f'<!ENTITY l0 "laugh">{bomb}', "&l12;")) == "corrupt_file"


def test_docx_bombs_are_refused_by_their_declared_sizes() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("word/document.xml", "w") as part:
            for _ in range(40):
                part.write(bytes(1024 * 1024))
    assert refused("a.docx", stream.getvalue()) == "too_large"
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w") as archive:
        for index in range(10_001):
            archive.writestr(f"word/{index}", b"")
    assert refused("a.docx", many.getvalue()) == "too_large"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: repacked(content, word_document=b"<w:document"),
        lambda content: repacked(content, _rels_=b"", word_styles=b"not xml"),
        lambda content: content[:60] + bytes(200) + content[260:],
    ],
    ids=["truncated", "broken body", "broken styles", "zeroed"],
)
def test_damaged_docx_is_called_corrupt(damage: Callable[[bytes], bytes]) -> None:
    assert refused("a.docx", damage(docx_file(lambda _: None))) == "corrupt_file"


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ("xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("ppt/presentation.xml", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
        ("a.md", "application/zip"),
        ("[Content_Types].xml", None),
    ],
)
def test_archives_are_told_apart_by_what_is_in_them(entry: str, kind: str | None) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(entry, "<x/>")
    assert sniff(name="a.bin", content=stream.getvalue()) == kind


@pytest.mark.parametrize(("kind", "found"), [("application/epub+zip", True), ("application/octet-stream", False)])
def test_some_archives_say_what_they_are(kind: str, found: bool) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", kind)
    assert sniff(name="a.zip", content=stream.getvalue()) == (kind if found else "application/zip")
