"""Whole files of the test data, good and hostile, through the parser process and the chunker."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.formats.expectations import EXPECTED, is_found
from ingest_app.chunking import TextChunk, chunk
from ingest_app.parsing import ParsedDocument, UnableToParse, parse, sniff
from ingest_app.parsing.sandbox import ParserProcess

TEST_DATA = os.environ.get("RAGSITE_TEST_DATA", "")
pytestmark = pytest.mark.skipif(not TEST_DATA, reason="RAGSITE_TEST_DATA names no folder of test files")
FILES = Path(TEST_DATA) / "office_files"
GOOD = sorted(path.name for path in (FILES / "good").glob("*")) if TEST_DATA else []
HOSTILE = sorted(path.name for path in (FILES / "hostile").glob("*")) if TEST_DATA else []
REFUSED = {
    "bomb_document_xml_600MB.docx": "too_large",
    "empty.xlsx": "empty_file",
    "encrypted_doc_no_id.pdf": "encrypted",
    "encryption_r6-user-password.pdf": "encrypted",
    "fake-text-all-whitespace.txt": "empty_file",
    "libreoffice-writer-password.pdf": "encrypted",
    "password_protected.xlsx": "encrypted",
    "pdf_password.pdf": "encrypted",
    "png_named.md": "unsupported_type",
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


def check_chunks(parsed: ParsedDocument) -> list[TextChunk]:
    def count_tokens(text: str) -> int:
        return len(re.findall(r"\w{1,8}|[^\w\s]", text))

    chunks = chunk(parsed, size=220, overlap=30, count_tokens=count_tokens)
    covered = bytearray(len(parsed.text))
    for found in chunks:
        own = parsed.text[found.start : found.end]
        assert found.text.endswith(own)
        assert found.text == own or found.text.removesuffix(own) in parsed.text
        assert count_tokens(found.text) <= 220
        covered[found.start : found.end] = b"\1" * len(own)
    assert all(covered[i] or character.isspace() for i, character in enumerate(parsed.text))
    return chunks


def test_every_good_file_is_expected_to_say_something() -> None:
    assert set(EXPECTED) == set(GOOD)


@pytest.mark.parametrize("name", GOOD)
def test_good_files_say_what_a_person_sees_where_a_person_looks(parser: ParserProcess, name: str) -> None:
    expected = EXPECTED[name]
    if isinstance(expected, str):
        with pytest.raises(UnableToParse) as caught:
            read(parser, "good", name)
        assert caught.value.code == expected
        return
    parsed = read(parser, "good", name)
    assert parsed.media_type == sniff(name=name, content=(FILES / "good" / name).read_bytes())
    assert parsed.title
    assert not re.search("[\0\r\ud800-\udfff\ufffe\uffff\ufb00-\ufb06]", parsed.text)
    assert is_found(parsed, check_chunks(parsed), expected), f"{expected} in {parsed.text[:2000]}"


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
