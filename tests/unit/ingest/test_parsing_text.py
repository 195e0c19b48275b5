"""Text, Markdown and HTML: encodings, headings, titles, and what no text may hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_app.parsing import Heading, ParsedDocument, UnableToParse, parse, sniff

GERMAN = "Übermütige Bären äßen größere Äpfel, während die Füchse über die Mauer sprangen. "


def text_of(content: bytes, name: str = "a.txt") -> str:
    return parse(name=name, content=content).text


def heading_lines(parsed: ParsedDocument) -> list[tuple[int, str, str]]:
    """Level, text, and the line found at the heading's offset."""
    lines = [parsed.text[heading.offset :].split("\n")[0] for heading in parsed.headings]
    return [(h.level, h.text, line) for h, line in zip(parsed.headings, lines, strict=True)]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "iso-8859-1"], ids=lambda e: e
)
def test_text_in_any_encoding_reads_the_same(encoding: str) -> None:
    assert text_of(GERMAN.encode(encoding)) == GERMAN


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp932", "名前,年齢,住所\n佐藤太郎,30,東京\n三木英子,25,大阪\n"),
        ("koi8-r", "Все люди рождаются свободными и равными в своем достоинстве и правах."),  # noqa: RUF001
        ("cp1252", "Le café est très chaud cet été. Où est la forêt ?"),
        ("cp1250", "Zażółć gęślą jaźń. Wszyscy ludzie rodzą się wolni i równi pod względem swej godności."),
    ],
    ids=["japanese", "russian", "french", "polish"],
)
def test_undeclared_encodings_are_recognised(encoding: str, text: str) -> None:
    assert text_of(text.encode(encoding)) == text


@given(st.binary(max_size=400))
def test_whatever_is_read_as_text_is_clean(content: bytes) -> None:
    try:
        parsed = parse(name="a.txt", content=content)
    except UnableToParse:
        return
    parsed.text.encode("utf-8")
    assert "\0" not in parsed.text
    assert "\r" not in parsed.text
    assert parsed.title


def test_line_ends_nul_and_marks_are_cleaned() -> None:
    assert text_of(b"\xef\xbb\xbfa\r\nb\rc\0d\x0cE\n") == "a\nb\ncd\nE\n"


@pytest.mark.parametrize("content", [b"", b" \n\t\r\n", "\ufeff".encode(), "\u200b\u3000\n".encode()])
def test_files_without_a_character_are_empty(content: bytes) -> None:
    with pytest.raises(UnableToParse) as caught:
        parse(name="a.txt", content=content)
    assert caught.value.code == "empty_file"
    assert "empty" in caught.value.detail


def test_more_characters_than_allowed_is_too_large() -> None:
    with pytest.raises(UnableToParse, match="20,000,000 characters") as caught:
        parse(name="a.txt", content=b"ab cd\n" * 3_400_000)
    assert caught.value.code == "too_large"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.md", b"# x", "text/markdown"),
        ("A.MARKDOWN", b"# x", "text/markdown"),
        ("notes", b"plain", "text/plain"),
        ("data.csv", b"a,b\n1,2\n", "text/csv"),
        ("a.html", b"just words", "text/html"),
        ("a.txt", b"<!-- x --> <!DOCTYPE html><p>x", "text/html"),
        ("a.docx", b"%PDF-1.7\n", "application/pdf"),
        ("about.md", b"A PDF starts with %PDF-1.7\n", "text/markdown"),
        ("a.md", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\6\0\0\0", None),
        ("a.xls", bytes.fromhex("d0cf11e0a1b11ae1") + b"x" * 100, None),
        ("a.rtf", b"{\\rtf1 hello}", "application/rtf"),
        ("a.txt", b"{\\rtf1 hello}", "application/rtf"),
        ("mail.eml", b"Subject: x\n\ny", "message/rfc822"),
        ("feed", '<?xml version="1.0"?><rss/>'.encode("utf-16"), "application/xml"),
        ("a.json", b"<!doctype html><p>x", "text/html"),
        ("report.docx", b"just words", "text/plain"),
        ("drawing.svg", b"<svg/>", None),
        ("page.php", b"<html><?php echo 1; ?></html>", "text/x-source"),
        ("main.py", b"x = 1", "text/x-source"),
        ("folder.md/file", b"plain", "text/plain"),
    ],
)
def test_content_decides_before_the_extension(name: str, content: bytes, expected: str | None) -> None:
    assert sniff(name=name, content=content) == expected


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("a.md", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "unsupported_type", "named .md"),
        ("a.doc", bytes.fromhex("d0cf11e0a1b11ae1") + b"x", "unsupported_type", "save it as DOCX, PPTX, XLSX or PDF"),
        (
            "a.docx",
            bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"),
            "encrypted",
            "remove its password",
        ),
        ("a.pdf", b"\0\1\2\3\4\5", "corrupt_file", "export it again"),
        ("a.exe", b"MZ\0\1\2\3\4\5\0\0", "unsupported_type", "convert it to"),
    ],
)
def test_refusals_say_what_to_do(name: str, content: bytes, code: str, words: str) -> None:
    with pytest.raises(UnableToParse) as caught:
        parse(name=f"/secret/folder/{name}", content=content)
    assert caught.value.code == code
    assert words in caught.value.detail
    assert "secret" not in caught.value.detail


def test_many_opened_comments_do_not_stall_the_recognition_of_html() -> None:
    content = b"<!--x--><!--" * 300 + b"!"
    assert sniff(name="a.txt", content=content) == "text/plain"


def test_markdown_headings_are_found_by_a_parser() -> None:
    source = (
        "Setext *one*\n====\n\ntext\n\n```\n# not a heading\n```\n\n"
        "## A [link](http://x) and `code` ##\n\n> # quoted\n\n    # indented code\n\nTwo\nlines\n---\n\n#hashtag\n"
    )
    parsed = parse(name="a.md", content=source.encode())
    assert parsed.text == source
    assert parsed.title == "Setext one"
    assert heading_lines(parsed) == [
        (1, "Setext one", "Setext *one*"),
        (2, "A link and code", "## A [link](http://x) and `code` ##"),
        (2, "Two lines", "Two"),
    ]


def test_markdown_front_matter_gives_the_title_and_no_heading() -> None:
    parsed = parse(name="a.md", content=b"---\ntitle: From matter\ntags: [a]\n---\n# Heading\n\ntext\n")
    assert parsed.title == "From matter"
    assert parsed.headings == (Heading(offset=37, level=1, text="Heading"),)


@pytest.mark.parametrize("matter", ["title: [", "- a\n- b", "title: 2020-13-45", "x: &a [*a]", "\ttab"])
def test_broken_front_matter_is_tolerated(matter: str) -> None:
    parsed = parse(name="notes.md", content=f"---\n{matter}\n---\n\n## Body\n".encode())
    assert (parsed.title, [heading.text for heading in parsed.headings]) == ("notes", ["Body"])


@pytest.mark.parametrize(
    ("name", "title"),
    [("folder/My notes.md", "My notes"), ("C:\\x\\y.txt", "y"), (".md", ".md"), ("", "untitled"), ("   ", "untitled")],
)
def test_the_file_name_is_the_last_title(name: str, title: str) -> None:
    assert parse(name=name, content=b"words").title == title


def test_html_keeps_headings_tables_lists_and_identifiers() -> None:
    page = """<html><head><title>Site - Guide</title></head><body><nav>Home | About</nav><main><h1>Guide</h1>
    <p>Call <code>snake_case_name</code> or other_snake_name first, then wait for it to be done.</p>
    <h2>Table</h2><table><tr><th>Key</th><th>Value</th></tr><tr><td>alpha</td><td>1</td></tr></table>
    <h2>List</h2><ul><li>first item of it</li><li>second item of it</li></ul></main>
    <script>var hidden = 1;</script></body></html>"""
    parsed = parse(name="a.html", content=page.encode())
    assert parsed.media_type == "text/html"
    assert parsed.title == "Guide"
    assert [(level, text) for level, text, _ in heading_lines(parsed)] == [(1, "Guide"), (2, "Table"), (2, "List")]
    for wanted in ("other_snake_name", "alpha | 1", "- second item of it"):
        assert wanted in parsed.text
    assert "hidden" not in parsed.text


def test_html_title_is_used_where_headings_do_not_name_the_page() -> None:
    page = b"<title>Two parts</title><body><h1>One</h1><p>First part of it.</p><h1>Two</h1><p>Second part.</p>"
    assert parse(name="a.html", content=page).title == "Two parts"


@pytest.mark.parametrize(
    "head",
    [
        b'<meta charset="windows-1251">',
        b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
        b'<?xml version="1.0" encoding="windows-1251"?>',
    ],
)
def test_html_declares_its_charset(head: bytes) -> None:
    words = "Все люди рождаются свободными"  # noqa: RUF001
    page = head + f"<html><body><p>{words}</p></body></html>".encode("cp1251")
    assert words in parse(name="a.html", content=page).text


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 50_000 + "deep words" + "</div>" * 50_000,
        "<table><tr><td>" * 3_000 + "deep words",
        "<p>deep words<![CDATA[ <a <b <c",
        "<head><p>deep words",
        "<b><i>" * 2_000 + "deep words",
    ],
    ids=["divs", "tables", "broken", "open head", "inline"],
)
def test_html_soup_and_depth_do_no_harm(page: str) -> None:
    assert "deep words" in parse(name="a.html", content=page.encode()).text


def test_html_without_text_is_empty() -> None:
    with pytest.raises(UnableToParse) as caught:
        parse(name="a.html", content=b"<html><body><script>x()</script></body></html>")
    assert caught.value.code == "empty_file"
