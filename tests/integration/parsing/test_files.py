"""Whole files of the test data, good and hostile, through the parser process and the chunker."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest_app.chunking import chunk
from ingest_app.parsing import ParsedDocument, UnableToParse, parse, sniff
from ingest_app.parsing.sandbox import ParserProcess

TEST_DATA = os.environ.get("RAGSITE_TEST_DATA", "")
pytestmark = pytest.mark.skipif(not TEST_DATA, reason="RAGSITE_TEST_DATA names no folder of test files")
FILES = Path(TEST_DATA) / "office_files"
GOOD = sorted(path.name for path in (FILES / "good").glob("*")) if TEST_DATA else []
HOSTILE = sorted(path.name for path in (FILES / "hostile").glob("*")) if TEST_DATA else []
NOT_YET = {".doc", ".eml", ".epub", ".ipynb", ".msg", ".odt", ".pptx", ".rtf", ".xls", ".xlsx"}

# A phrase that must be found, and where: its page, or the last heading of its section.
PHRASES = {
    "test.pdf": ("multi-agent conversations to achieve it", 1),
    "GeoBase_NHNC1_Data_Model_UML_EN.pdf": ("object metadata attribute « date » is renamed", 3),
    "REPAIR-2022-INV-001_multipage.pdf": ("Batmobile", 2),
    "SPARSE-2024-INV-1234_borderless_table.pdf": ("SKU-3345 Electronics $67.00", 2),
    "movie-theater-booking-2024.pdf": ("Holiday Spectacular IMAX 3D", 1),
    "multilang.pdf": ("Привет, мир", 1),
    "pdf_korean-text-with-tables.pdf": ("적립 제외 대상", 1),
    "pdf_multi-column-2p.pdf": ("relies on efficient passage retrieval", 1),
    "pdflatex-outline.pdf": ("3 Baz", "Baz"),
    "test.docx": ("Multi-Agent Conversation", None),
    "handbook-872p.docx": ("The United States Trustee appoints and supervises", "A. PURPOSE"),
    "docx-tables.docx": ("| Header Col 1 | Header Col 2 |\n| --- | --- |\n| Lorem ipsum | A link example |", None),
    "tables-with-incomplete-rows.docx": ("| a | b |\n| --- | --- |\n| c | d |", None),
    "docx_sources_unit_test_headers_numbered.docx": ("Paragraph 1.2.3.1", "Section 1.2.3"),
    "test_blog.html": ("target inference budget $0.02 per instance", "Experiment Setup"),
    "html_sources_wiki_duck.html": ("diving ducks", "Feeding"),
    "test_wikipedia.html": ("went public on March 13", "1985\u20131994: Windows and Office"),
    "fake-html-cp1252.html": ("El niño comió paella con ñoquis", None),
    "example-10k-1p.html": ("| Common stock |  | GLXZ |", None),
    "md_sources_wiki.md": ("Computing-Tabulating-Recording Company", None),
    "test_mskanji.csv": ("佐藤太郎,30,東京", None),
    "fake-text-utf-32.txt": ("Hamburgers are delicious", None),
    "stanley-cups-utf-16.csv": ("Maple Leafs", None),
}
REFUSED = {
    "bomb_document_xml_600MB.docx": "too_large",
    "eml_fake-email-malformed-encoding.eml": "unsupported_type",
    "empty.xlsx": "unsupported_type",
    "encrypted_doc_no_id.pdf": "encrypted",
    "encryption_r6-user-password.pdf": "encrypted",
    "fake-text-all-whitespace.txt": "empty_file",
    "libreoffice-writer-password.pdf": "encrypted",
    "password_protected.xlsx": "encrypted",
    "pdf_password.pdf": "encrypted",
    "png_named.md": "unsupported_type",
    "pptx_sources_powerpoint_malformed_pictures.pptx": "unsupported_type",
    "random_noise.pdf": "corrupt_file",
    "truncated.pdf": "corrupt_file",
    "xxe_file_read.docx": "empty_file",
    "zero.pdf": "empty_file",
}


@pytest.fixture(scope="module")
def parser() -> Iterator[ParserProcess]:
    with ParserProcess(timeout_seconds=60, memory_bytes=1024**3) as process:
        yield process


def read(parser: ParserProcess, kind: str, name: str) -> ParsedDocument:
    return parser.parse(name=name, content=(FILES / kind / name).read_bytes())


def check_chunks(parsed: ParsedDocument) -> None:
    def count_tokens(text: str) -> int:
        return len(re.findall(r"\w{1,8}|[^\w\s]", text))

    chunks = chunk(parsed, size=220, overlap=30, count_tokens=count_tokens)
    covered = bytearray(len(parsed.text))
    for found in chunks:
        assert found.text == parsed.text[found.start : found.end]
        assert count_tokens(found.text) <= 220
        covered[found.start : found.end] = b"\1" * len(found.text)
    assert all(covered[i] or character.isspace() for i, character in enumerate(parsed.text))


@pytest.mark.parametrize("name", GOOD)
def test_good_files_are_read_or_refused_by_type(parser: ParserProcess, name: str) -> None:
    if Path(name).suffix in NOT_YET or name.startswith("MEDRPT"):
        with pytest.raises(UnableToParse) as caught:
            read(parser, "good", name)
        assert caught.value.code == ("scanned_pdf" if name.startswith("MEDRPT") else "unsupported_type")
        return
    parsed = read(parser, "good", name)
    assert parsed.media_type == sniff(name=name, content=(FILES / "good" / name).read_bytes())
    assert parsed.title
    assert not re.search("[\0\r\ud800-\udfff\ufffe\uffff\ufb00-\ufb06]", parsed.text)
    check_chunks(parsed)


@pytest.mark.parametrize("name", sorted(PHRASES))
def test_phrases_are_found_where_people_would_look(parser: ParserProcess, name: str) -> None:
    phrase, place = PHRASES[name]
    parsed = read(parser, "good", name)
    assert phrase in parsed.text
    if place is None:
        return
    offsets = [match.start() for match in re.finditer(re.escape(phrase), parsed.text)]
    if isinstance(place, int):
        assert [page.number for page in parsed.pages if page.offset <= offsets[-1]][-1] == place
    else:
        sections = {next((h.text for h in parsed.headings[::-1] if h.offset <= o), None) for o in offsets}
        assert place in sections


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_or_harmless(parser: ParserProcess, name: str) -> None:
    """Bad input: each a sentence that says what to do, and one bad file never stops the others."""
    if name in REFUSED:
        with pytest.raises(UnableToParse) as caught:
            read(parser, "hostile", name)
        assert caught.value.code == REFUSED[name]
        assert caught.value.detail.endswith(".")
        assert "/" not in caught.value.detail
    else:
        parsed = read(parser, "hostile", name)
        assert "root:" not in parsed.text
        parsed.text.encode()
        check_chunks(parsed)
    assert parser.parse(name="next.md", content=b"# Next").title == "Next"


def test_the_bomb_is_refused_within_a_parser_that_could_not_hold_it() -> None:
    content = (FILES / "hostile" / "bomb_document_xml_600MB.docx").read_bytes()
    with (
        ParserProcess(timeout_seconds=60, memory_bytes=256 * 1024**2) as small,
        pytest.raises(UnableToParse) as caught,
    ):
        small.parse(name="bomb.docx", content=content)
    assert caught.value.code == "too_large"
    assert "unpacks" in caught.value.detail


def test_a_pdf_with_another_extension_is_read_as_pdf() -> None:
    parsed = parse(name="pdf_named.docx", content=(FILES / "hostile" / "pdf_named.docx").read_bytes())
    assert (parsed.media_type, parsed.title) == ("application/pdf", "pdf_named")
    assert "The Crazy Ones" in parsed.text


def test_the_872_page_handbook_is_chunked_with_few_tokenizer_calls(parser: ParserProcess) -> None:
    parsed = read(parser, "good", "handbook-872p.docx")
    counted = 0

    def count_tokens(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return len(text) // 4

    chunks = chunk(parsed, size=220, overlap=30, count_tokens=count_tokens)
    assert len(chunks) > 500
    assert counted < 40 * len(parsed.text)
