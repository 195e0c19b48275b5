"""What a person sees in each of the test files, and where: held against what is read out of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ingest_app.chunking import TextChunk
from ingest_app.parsing import ParsedDocument


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A phrase of a file; the page or slide, the nearest heading, or the row where a person sees it."""

    phrase: str
    page: int | None = None
    section: str | None = None
    #: Of a sheet; the chunk that has the phrase holds it.
    row: int | None = None
    sheet: str | None = None


def seen(phrase: str, place: int | str | None = None, **more: int | str) -> Seen:
    """A phrase on a page, in a section, or anywhere."""
    if isinstance(place, int):
        return Seen(phrase=phrase, page=place)
    return Seen(phrase=phrase, section=place, **more)  # type: ignore[arg-type]


def is_found(document: ParsedDocument, chunks: Sequence[TextChunk], expected: Seen) -> bool:
    """Whether some passage has the phrase, and stands where a person would say it does."""
    starts = [match.start() for match in re.finditer(re.escape(expected.phrase), document.text)]
    if not starts:
        return False
    return any(_is_there(document, chunks, start, expected) for start in starts)


def _is_there(document: ParsedDocument, chunks: Sequence[TextChunk], start: int, expected: Seen) -> bool:
    page = next((page.number for page in reversed(document.pages) if page.offset <= start), None)
    section = next((heading.text for heading in reversed(document.headings) if heading.offset <= start), None)
    around = [part for part in chunks if part.start <= start < part.end]
    rows = [part.rows for part in around if part.rows is not None]
    return (
        bool(around)
        and (expected.page is None or page == expected.page)
        and (expected.section is None or section == expected.section)
        and (expected.row is None or any(found.first <= expected.row <= found.last for found in rows))
        and (expected.sheet is None or any(found.sheet == expected.sheet for found in rows))
    )


#: By file: what is seen in it, or the code of its refusal.
EXPECTED: Mapping[str, Seen | str] = MappingProxyType(
    {
        "test.pdf": seen("multi-agent conversations to achieve it", 1),
        "GeoBase_NHNC1_Data_Model_UML_EN.pdf": seen("object metadata attribute « date » is renamed", 3),
        "MEDRPT-2024-PAT-3847_medical_report_scan.pdf": "scanned_pdf",
        "REPAIR-2022-INV-001_multipage.pdf": seen("Batmobile", 2),
        "SPARSE-2024-INV-1234_borderless_table.pdf": seen("SKU-3345 Electronics $67.00", 2),
        "movie-theater-booking-2024.pdf": seen("Holiday Spectacular IMAX 3D", 1),
        "multilang.pdf": seen("Привет, мир", 1),
        "pdf_korean-text-with-tables.pdf": seen("적립 제외 대상", 1),
        "pdf_multi-column-2p.pdf": seen("relies on efficient passage retrieval", 1),
        "pdflatex-outline.pdf": seen("3 Baz", "Baz"),
        "test.docx": seen("Multi-Agent Conversation"),
        "handbook-872p.docx": seen("The United States Trustee appoints and supervises", "A. PURPOSE"),
        "docx-tables.docx": seen("| Header Col 1 | Header Col 2 |\n| --- | --- |\n| Lorem ipsum | A link example |"),
        "tables-with-incomplete-rows.docx": seen("| a | b |\n| --- | --- |\n| c | d |"),
        "docx_sources_unit_test_headers_numbered.docx": seen("Paragraph 1.2.3.1", "Section 1.2.3"),
        "test_blog.html": seen("target inference budget $0.02 per instance", "Experiment Setup"),
        "html_sources_wiki_duck.html": seen("diving ducks", "Feeding"),
        "test_wikipedia.html": seen("went public on March 13", "1985\u20131994: Windows and Office"),
        "fake-html-cp1252.html": seen("El niño comió paella con ñoquis"),
        "example-10k-1p.html": seen("| Common stock |  | GLXZ |"),
        "md_sources_wiki.md": seen("Computing-Tabulating-Recording Company"),
        "fake-text-utf-32.txt": seen("Hamburgers are delicious"),
        "README.org": seen("You can parse this document using the HTML parser", "XBRL 10-K"),
        "README.rst": seen("You can parse this document using the HTML parser", "XBRL 10-K"),
        "attachment.pdf": seen("The misfits. The rebels. The troublemakers", 1),
        "crazyones.pdf": seen("The round pegs in the square holes", 1),
        "csv-with-long-lines.csv": seen("1Freq pDCfrequencyUnstim: 0.312877946", row=2),
        "csv_sources_csv-semicolon.csv": seen("Dominguez;Mcmillan and Donovan", row=5),
        "docx_complex_layout.docx": seen("| Feature | Status |\n| --- | --- |\n| Authentication | Active |"),
        "docx_sources_docx_code_blocks.docx": seen(
            "SELECT * FROM users", "Case D - fully monospaced paragraph, no code style"
        ),
        "eml_email-with-image.eml": seen("The unstructured logo is attached", "email-with-image"),
        "equations.docx": seen("The angle is θ"),
        "factbook-utf-16.xml": seen("| France | Paris | Emmanuel Macron |"),
        "fake-doc.rtf": seen("| Row 2, Cell 1 | Row 2, Cell 2 |", "My First Heading"),
        "fake-power-point-table.pptx": seen("| Tangerine | Pink | Aqua |", 1),
        "form.pdf": seen("foo", 1),
        "handbook-1p.docx": seen("Federal Rules of Bankruptcy Procedure"),
        "language-docs_eng_spa_mult.docx": seen("dotados como están de razón y conciencia"),
        "md_sources_nested.md": seen("* changing symbol", "Nesting"),
        "more-than-1k-cells.xlsx": seen("| x | x | x |", row=40, sheet="Sheet1"),
        "pdf_sources_code_and_formula.pdf": seen("JavaScript Code Example", 1),
        "pdf_sources_right_to_left_01.pdf": seen("البرمجة بلغة R", 1),
        "sample-presentation.pptx": seen("Subtopic 1 of subtopic 2", 3),
        "simple.odt": seen("This is my third thought", "These are a few of my favorite things:"),
        "stanley-cups-utf-16.csv": seen("| Maple Leafs | TOR | 13 |", row=5),
        "test.epub": seen("second chapter with a different style", "Chapter 2: More Content"),
        "test.json": seen("key3: list_value1, list_value2"),
        "test.pptx": seen("A chart to test parsing", 4),
        "test.xlsx": seen("6ff4173b-42a5-4784-9b19-f49caff4d93d", row=14, sheet="Sheet1"),
        "test_mskanji.csv": seen("| 髙橋淳 | 35 | 名古屋 |", row=4),
        "test_notebook.ipynb": seen("print(42)", "Code Cell Below"),
        "test_outlook_msg.msg": seen("This is the body of the test email message", "Test Email Message"),
        "test_rss.xml": seen("Microsoft"),
        "test_with_comment.docx": seen("open-source framework that allows developers", "Abstract"),
        "winter-sports.epub": seen("ski-running"),
        "xlsx-subtable-cases.xlsx": seen("2. e", row=22),
        "simple.doc": "unsupported_type",
        "test.xls": "unsupported_type",
    }
)
