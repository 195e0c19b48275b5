"""Books, rich text, reStructuredText and Org: what is shown, where headings are, and files made to do harm."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ingest_app.parsing import parse
from tests.unit.ingest.package_files import LAUGHS, archive, changed, headings, refused

METADATA = '<dc:title>The\n Book</dc:title><dc:creator id="a">Ada L.</dc:creator><dc:creator>Alan T.</dc:creator>'


def epub(
    chapters: dict[str, str | bytes], *, metadata: str = METADATA, manifest: str = "", opf: str = "", **parts: str
) -> bytes:
    """A book of these chapters by path from OPS; what has no html in its name is in the manifest alone."""
    items = "".join(f'<item id="i{n}" href="{path}"/>' for n, path in enumerate(chapters))
    spine = "".join(f'<itemref idref="i{n}"/>' for n, path in enumerate(chapters) if "htm" in path)
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata>{metadata}</metadata><manifest>{items}{manifest}</manifest><spine>{spine}</spine>{opf}</package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OPS/book%20one.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "OPS/book one.opf": book,
            **{f"META-INF/{name}.xml": part for name, part in parts.items()},
            **{f"OPS/{path.replace('%20', ' ')}": page(text) for path, text in chapters.items()},
        }
    )


def page(body: str | bytes) -> str | bytes:
    if isinstance(body, bytes):
        return body
    return f'<?xml version="1.0"?><html xmlns:epub="e"><head><title>unseen</title></head><body>{body}</body></html>'


def chapter_text(body: str) -> str:
    return parse(name="a.epub", content=epub({"one.xhtml": body})).text


def test_a_book_is_read_in_the_order_of_its_spine_with_title_and_authors() -> None:
    chapters: dict[str, str | bytes] = {
        "z%20first.xhtml": "<h1>One<br/>The   start</h1><p>First\n words.</p>",
        "sub/../a.html": "<h2>Two</h2><p>More.</p>",
        "sub/../../OPS/a.html": "never a second time",
        "unused.xml": "no chapter",
        "missing.html": "gone",
    }
    content = changed(epub(chapters), lambda parts: parts.pop("OPS/missing.html"))
    content = changed(content, lambda parts: parts.update({"OPS/a.html": parts.pop("OPS/sub/../a.html")}))
    parsed = parse(name="a.epub", content=content)
    assert parsed.text == "# One The start\n\nFirst words.\n\n## Two\n\nMore."
    assert headings(parsed) == [(1, "One The start"), (2, "Two")]
    assert (parsed.title, parsed.properties) == ("The Book", {"author": "Ada L., Alan T."})
    untitled = epub({"one.xhtml": "<h3>Head</h3>text"}, metadata="")
    assert (parse(name="a.epub", content=untitled).title, parse(name="a.epub", content=untitled).properties) == (
        "Head",
        {},
    )


def test_tables_of_contents_are_left_out_where_they_are_nothing_else() -> None:
    links = '<h2>Contents</h2><p><a href="a">Chapter the first</a></p><p><a href="b">Chapter the second</a></p>'
    guide = '<guide><reference type="toc" href="toc.html"/><reference type="toc" href="all.html#toc"/></guide>'
    chapters: dict[str, str | bytes] = {"toc.html": links, "all.html": links + "<p>" + "The whole story. " * 20}
    text = parse(name="a.epub", content=epub(chapters, opf=guide)).text
    assert text.count("Chapter the first") == 1
    assert text.startswith("## Contents")
    nav = '<item id="n" href="one.xhtml" properties="nav"/>'
    spine = '<spine><itemref idref="n"/><itemref idref="i0"/></spine>'
    of_epub_3 = epub({"all.xhtml": "Story"}, manifest=nav, opf=spine)
    assert parse(name="a.epub", content=of_epub_3).text == "Story"


def test_chapters_keep_lists_tables_and_notes() -> None:
    body = """<ul><li><p>one</p></li><li>two<ol><li>in\u00adner</li></ol>still two</li></ul>
    <table><caption>Sums</caption><tr><th>a</th><th colspan="2">b</th></tr><tr><td rowspan="2"><p>1</p><p>2</p></td>
    <td>x|y</td><td/></tr><tr><td>low</td><td><table><tr><td>in</td><td>side</td></tr></table></td></tr></table>
    <p>A word<a epub:type="noteref" href="#n">7</a> and x<sup>2</sup> <sup><a href="#m">*</a></sup></p>
    <aside epub:type="footnote" id="n">The note.</aside><pre>if x:\n    y()\n\nz</pre>"""
    assert chapter_text(body) == (
        "- one\n- two\n  - inner\n\n  still two\n\nSums\n\n"
        "| a | b |  |\n| --- | --- | --- |\n| 1 2 | x\\|y |  |\n|  | low | in side |\n\n"
        "A word[^7] and x2 [^*]\n\nThe note.\n\nif x:\n    y()\n\nz"
    )


def test_chapters_lose_what_nobody_sees_and_frames_that_only_hold_the_page_together() -> None:
    body = """<script>x()</script><style>p{}</style><nav>menu</nav><svg><text>drawn</text></svg>
    <p hidden="">no<br/>no</p><p style="color: red; display : none">no</p><span epub:type="pagebreak">12</span>
    <table><tr><td><h2>Framed</h2><p>Kept.</p></td></tr></table><ruby>\u6f22<rp>(</rp><rt>kan</rt></ruby>
    <img alt="described" src="x.png"/><math><mi>x</mi><annotation>tex</annotation></math><footer>End</footer>"""
    assert chapter_text(body) == "## Framed\n\nKept.\n\n\u6f22 x\n\nEnd"


@pytest.mark.parametrize(
    "content",
    [
        page("<p>Größe — déjà</p>").encode("utf-16"),  # type: ignore[union-attr]
        b'<?xml version="1.0" encoding="windows-1252"?><p>Gr\xf6\xdfe \x97 d\xe9j\xe0',
        "<meta charset='koi8-r'/><p>Größe &mdash; d&eacute;jà".encode(),
    ],
    ids=["utf-16", "declared", "wrongly declared"],
)
def test_chapters_in_any_encoding_read_the_same(content: bytes) -> None:
    assert parse(name="a.epub", content=epub({"a.html": content})).text == "Größe — déjà"


@pytest.mark.parametrize(
    "body",
    [
        *("<div>" * 50_000 + "deep words", "deep words" + "<a " * 300_000, "deep words" + "<!--" * 300_000),
        *("<table><tr><td>" * 20_000 + "deep words", "<p>deep words<![CDATA[ <a <b <c", "</p></td>deep words<h1>"),
    ],
    ids=["divs", "tags", "comments", "tables", "broken", "ends"],
)
def test_broken_and_deep_chapters_do_no_harm(body: str) -> None:
    started = time.monotonic()
    assert "deep words" in chapter_text(body)
    assert time.monotonic() - started < 20


def encryption(algorithm: str, path: str) -> str:
    return (
        f'<encryption xmlns="c"><EncryptedData xmlns="x"><EncryptionMethod Algorithm="{algorithm}"/>'
        f'<CipherData><CipherReference URI="{path}"/></CipherData></EncryptedData></encryption>'
    )


def test_copy_protection_is_named_and_obfuscated_fonts_are_none() -> None:
    aes = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OPS/a%20b.html")
    assert refused("a.epub", epub({"a%20b.html": "x"}, encryption=aes)) == "encrypted"
    assert parse(name="a.epub", content=epub({"other.html": "x"}, encryption=aes)).text == "x"
    font = encryption("http://www.idpf.org/2008/embedding", "OPS/a%20b.html")
    assert parse(name="a.epub", content=epub({"a%20b.html": "x"}, encryption=font)).text == "x"


def test_damaged_and_empty_books_are_told_apart() -> None:
    good = epub({"a.html": "words " * 999})
    assert refused("a.epub", good[: len(good) // 2]) == "corrupt_file"
    for part in ("META-INF/container.xml", "OPS/book one.opf", "OPS/a.html"):
        assert refused("a.epub", changed(good, lambda parts, part=part: parts.pop(part))) == "corrupt_file"  # type: ignore[misc]
    assert refused("a.epub", epub({"a.html": bytes(range(32)) * 40})) == "corrupt_file"
    assert refused("a.epub", epub({"a.html": "<img src='x'/>"})) == "empty_file"


def test_entities_in_books_neither_read_files_nor_multiply(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("root:x:0:0")
    body = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY x SYSTEM "file://{secret}">{LAUGHS}]><p>a &x; b &l12; c'
    assert parse(name="a.epub", content=epub({"a.html": body.encode()})).text == "a &x; b &l12; c"


def rtf(body: str | bytes) -> str:
    content = body if isinstance(body, bytes) else body.encode("latin-1")
    return parse(name="a.rtf", content=b"{\\rtf1\\ansi\\ansicpg1252\\deff0 " + content + b"}").text


def test_rtf_structure_becomes_markdown() -> None:
    content = rb"""{\rtf1\ansi\deff0{\fonttbl{\f0 Arial;}}{\stylesheet{\ql Normal;}{\s1\outlinelevel0 heading 1;}
{\s2 heading 2;}{\s9 toc 1;}}{\info{\title My \'84title\'93}{\author Nobody}}
{\header ACME\par}{\footer\pard Page {\field{\*\fldinst PAGE}{\fldrslt 1}}\par Confidential\par}
\pard\s9 Contents\tab 1\par\pard\s1 Part one\par\pard\s2{\listtext 1.1\tab}Detail\par
\pard Some {\b bold}\~text{\footnote\pard {\super\chftn} A note.\par}, {\field{\*\fldinst HYPERLINK "http://x"}
{\fldrslt a link}}.\line next\par
{\listtext\'b7\tab}\ilvl1 point\par\pard{\pntext 2.\tab}numbered\par
\trowd\cellx1000\cellx2000\pard\intbl Key\cell Value\cell\row\trowd\cellx2000\pard\intbl wide\par cell\cell\row
\pard After{\shp{\*\shpinst{\sp{\sn x}{\sv y}}{\shptxt\pard in a box\par}}{\shprslt old}} it\par}"""
    parsed = parse(name="a.rtf", content=content)
    assert parsed.text == (
        "ACME\n\n# Part one\n\n## 1.1 Detail\n\nSome bold text[^1], a link.\nnext\n\n  - point\n- 2. numbered\n\n"
        "| Key | Value |\n| --- | --- |\n| wide cell |  |\n\nAfter it\n\nin a box\n\n[^1]: A note.\n\nConfidential"
    )
    assert parsed.title == "My „title“"
    assert headings(parsed) == [(1, "Part one"), (2, "1.1 Detail")]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"Gr\'f6\'dfe \u8364?5 \u-10179?\u-8704? \uc2\u228\'61\'65\uc0\u223", "Größe €5 😀 äß"),
        (r"{\fonttbl{\f1\fcharset128 M;}{\f2\fcharset204 A;}}\f1\'82\'b1\'82\'f1A\'83A\f2\'cf\'f0", "こんAアПр"),  # noqa: RUF001
        (r"{\fonttbl{\f1\fcharset0\cpg1250 A;}}\f1\'b9{\plain\'b9}", "ą¹"),
        (r"\ansicpg1251\'cf\'f0", "Пр"),
        (r"\ansicpg65001\'e2\'82\'ac \ansicpg99999", "€"),
        (r"\mac\'8a", "ä"),
        (r"{\upr{old}{\*\ud{new}}} \emdash\endash\lquote\rdblquote\bullet\_\-\{\}\\", "new —–‘”•-{}\\"),  # noqa: RUF001
        (b"raw \x84\x93 \\u0?\\u-10179?x", "raw „“ �x"),
    ],
)
def test_rtf_in_any_encoding(source: str | bytes, text: str) -> None:
    assert rtf(source) == text


def test_rtf_leaves_out_what_is_deleted_hidden_binary_or_unknown() -> None:
    source = (
        rb"shown{\v hidden\par}{\deleted gone}{\*\annotation remark}{\pict 0a0b\bin5 }}}}}}{\*\unknown\b x}{\xe entry}"
        rb"{\object{\*\objdata 00ff}{\result {\pict 00}drawn}}{\nonshppict{\pict 11}} {\i\*\cs7 and this}"
    )
    assert rtf(source) == "showndrawn and this"


def test_rtf_tables_within_tables_are_said_in_their_cell() -> None:
    source = (
        r"\trowd\cellx1\cellx2\pard\intbl before\par\pard\intbl\itap2 a\nestcell b\nestcell{\*\nesttableprops\nestrow}"
        r"\pard\intbl after\cell end\cell\row\trowd\cellx1\cellx2\pard\intbl 1\cell\cell\row\pard\par"
    )
    assert rtf(source) == "| before a, b after | end |\n| --- | --- |\n| 1 |  |"


def test_damaged_and_hostile_rtf() -> None:
    start = b"{\\rtf1 "
    assert refused("a.rtf", start + b"{\\b words") == "corrupt_file"
    assert parse(name="a.rtf", content=start + b"no last brace").text == "no last brace"
    assert parse(name="a.rtf", content=start + b"words\\cell\\row}}}} trailing \0\0").text == "words"
    assert refused("a.rtf", start + b"{\\pict 00}}") == "empty_file"
    with pytest.raises(RecursionError):
        parse(name="a.rtf", content=start + b"{" * 100_000)
    for part in (b"\\trowd\\cellx1", b"{}", b"{\\footnote}", b"\\upr\\ud", b"\\'", b"\\u99999999?\\"):
        assert "x" in parse(name="a.rtf", content=start + b"x" + part * 500 + b"}").text


RST = """=======
 Cover
=======

1. First ``code``
-----------------
text
more
----

:mod:`email` and `a link <http://x>`_
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~

::

   Literal
   =======

- item
======

日本
----

ab
---

===== =====
 a     b
===== =====

-----

Sub\\_name
~~~~~~~~~
.. note:: x
Again
-----
"""


def test_rst_stays_as_written_and_its_titles_are_found() -> None:
    parsed = parse(name="a.rst", content=RST.encode())
    assert (parsed.text, parsed.title, parsed.is_markdown) == (RST, "Cover", False)
    lines = [parsed.text[heading.offset :].split("\n")[0] for heading in parsed.headings]
    assert lines[0] == "======="
    assert lines[1:] == [
        "1. First ``code``",
        ":mod:`email` and `a link <http://x>`_",
        "日本",
        "ab",
        "Sub\\_name",
        "Again",
    ]
    assert [(heading.level, heading.text) for heading in parsed.headings] == [
        (1, "Cover"),
        (2, "1. First code"),
        (3, "email and a link"),
        (2, "日本"),
        (2, "ab"),
        (3, "Sub_name"),
        (2, "Again"),
    ]


ORG = """# comment
#+TITLE: The /whole/ thing
#+title: continued
* TODO [#A] First [[http://x][link]]   :tag:b_c:
:PROPERTIES:
:ID: 1
:END:
#+begin_src org
* not a heading
#+TITLE: neither
#+end_src
*bold* and * no heading
 * nor this
*** =Code= of path/to/x ***
#+begin_quote
** Unclosed
** [[file.org]]
"""


def test_org_stays_as_written_and_its_headings_are_found() -> None:
    parsed = parse(name="a.org", content=ORG.encode("utf-16"))
    assert (parsed.text, parsed.title, parsed.is_markdown) == (ORG, "The whole thing continued", False)
    assert all(parsed.text[heading.offset] == "*" for heading in parsed.headings)
    assert [(heading.level, heading.text) for heading in parsed.headings] == [
        (1, "First link"),
        (3, "Code of path/to/x ***"),
        (2, "Unclosed"),
        (2, "file.org"),
    ]
    assert parse(name="a.org", content=b"* Only\ntext").title == "Only"


@pytest.mark.parametrize("name", ["a.rst", "a.org"])
def test_plain_markup_of_any_kind_ends_in_time(name: str) -> None:
    pieces = ("=", "=\n", "a\n----\n", "`<a ", "* *", "* a\n#+begin_src\n", "#+begin_a\n#+end_b\n", "[[a][", ":a:`")
    started = time.monotonic()
    for piece in pieces:
        assert parse(name=name, content=("x\n\n* " + piece * (300_000 // len(piece))).encode()).title
    assert time.monotonic() - started < 20
    assert refused(name, b"\n \n") == "empty_file"
    french = "Le café est\0 très chaud\r\ncet été. Où est la forêt ?"
    assert parse(name=name, content=french.encode("cp1252")).text == french.replace("\0", "").replace("\r", "")
