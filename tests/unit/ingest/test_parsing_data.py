"""JSON, JSON lines, XML, feeds and notebooks: their structure as text, broken ones, and ones made to do harm."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_app.parsing import ParsedDocument, UnableToParse, parse

BASE64 = "iVBORw0KGgoAAAANSUhEUgAA1x" * 40
BOMB = '<!DOCTYPE a [<!ENTITY l0 "laugh">' + "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(12)) + "]>"


def read(name: str, content: str | bytes) -> ParsedDocument:
    return parse(name=name, content=content if isinstance(content, bytes) else content.encode())


def read_json(value: Any) -> ParsedDocument:
    return read("a.json", json.dumps(value))


def notebook(*cells: dict[str, Any], **metadata: Any) -> ParsedDocument:
    return read("a.ipynb", json.dumps({"nbformat": 4, "metadata": metadata, "cells": cells}))


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": outputs}


def heading_lines(parsed: ParsedDocument) -> list[str]:
    """The line found at each heading's offset."""
    return [parsed.text[heading.offset :].split("\n")[0] for heading in parsed.headings]


def refused(name: str, content: str | bytes) -> str:
    with pytest.raises(UnableToParse) as caught:
        read(name, content)
    assert caught.value.detail.endswith(".")
    assert "/" not in caught.value.detail
    return caught.value.code


def test_json_objects_are_lines_and_what_is_nested_is_under_headings() -> None:
    parsed = read_json(
        {
            "name": "pkg",
            "ok": True,
            "none": None,
            "tags": ["x", "y"],
            "author": {"name": "Ada", "mail": "a@x.org"},
            "text": "long " * 60,
            "scripts": {f"step-{n}": f"do thing {n}" for n in range(20)},
            "empty": [],
        }
    )
    assert parsed.text.startswith(
        "name: pkg\nok: true\nnone: null\ntags: x, y\nauthor.name: Ada\nauthor.mail: a@x.org\nempty: []\n\ntext: long"
    )
    assert "## scripts\n\nstep-0: do thing 0\nstep-1: do thing 1" in parsed.text
    assert (parsed.title, heading_lines(parsed)) == ("pkg", ["## scripts"])


def test_json_arrays_of_records_are_tables_and_others_sections() -> None:
    records = [{"id": 1, "at": {"city": "Köln"}}, {"id": 2, "at": {"city": "Ulm|x"}, "tags": ["a", "b"]}]
    assert read_json(records).text == (
        "| id | at.city | tags |\n| --- | --- | --- |\n| 1 | Köln |  |\n| 2 | Ulm\\|x | a, b |"
    )
    parsed = read_json(
        {"parts": [{"title": "One", "sub": [[1, 2], [3, 4]]}, {"n": 2, "sub": [{"a": [{"k": 1}]}]}, "three"]}
    )
    assert heading_lines(parsed) == [
        "## parts",
        "### One",
        "#### sub",
        "### parts 2",
        "#### sub",
        "##### sub 1",
        "###### a",
    ]
    assert "### One\n\n#### sub\n\n1, 2\n3, 4" in parsed.text
    assert parsed.text.endswith("- three")


def test_json_below_the_deepest_heading_has_dotted_keys() -> None:
    value: Any = {"leaf": [{"x": 1}, {"y": ["z" * 300]}]}
    for key in "gfedcba":
        value = {key: value}
    parsed = read_json(value)
    assert max(heading.level for heading in parsed.headings) == 6
    assert parsed.text.endswith(f"f.g.leaf:\n\n| x | y |\n| --- | --- |\n| 1 |  |\n|  | {'z' * 300} |")


def test_json_numbers_stay_as_written_and_the_last_of_equal_keys_counts() -> None:
    huge = "9" * 10_000
    text = read("a.json", f'{{"a": 1, "a": 1.10, "b": NaN, "c": -Infinity, "d": 1e999, "e": {huge}}}').text
    assert text == f"a: 1.10\nb: NaN\nc: -Infinity\nd: 1e999\n\ne: {huge}"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_json_in_any_encoding_and_without_what_no_text_may_hold(encoding: str) -> None:
    content = '{"ключ": "a\\u0000b \\ud800c\\r\\nd ☃"}'.encode(encoding)
    assert read("a.json", content).text == "ключ: ab c\nd ☃"


def test_files_within_json_are_left_out() -> None:
    text = read_json({"a": f"data:image/png;base64,{BASE64}", "b": BASE64, "genes": "ACGT" * 100}).text
    assert text == f"a: …\nb: …\n\ngenes: {'ACGT' * 100}"


@pytest.mark.parametrize(
    "source",
    ['{"a": 1, // why\n "b": [2,],}', '{"a": {"b": "cut off', "[" * 100_000, '{"a":' * 450 + "1" + "}" * 450, "words"],
    ids=["comments", "cut off", "deep", "deep and valid", "none"],
)
def test_json_that_cannot_be_read_as_such_is_text(source: str) -> None:
    parsed = read("a.json", source)
    assert (parsed.text, parsed.media_type, parsed.is_markdown, parsed.title) == (
        source,
        "application/json",
        False,
        "a",
    )


@pytest.mark.parametrize("content", ["{}", "[]", '""', "  \n"])
def test_json_without_values_is_empty(content: str) -> None:
    assert refused("a.json", content) == "empty_file"


def test_json_lines_are_tables_with_the_numbers_of_their_lines() -> None:
    parsed = read(
        "a.jsonl", '{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n\n{"a":3,"b":"z"}\n{"a":4}\nbroken {\n{"title":"T","n":[{}]}'
    )
    tables = [(rows.first, parsed.text[rows.start : rows.end].split("\n")) for rows in parsed.rows]
    assert tables == [(1, ["| 1 | x |", "| 2 | y |"]), (4, ["| 3 | z |", "| 4 |  |"])]
    assert "\n\nbroken {\n\n## T\n\n" in parsed.text
    assert parsed.media_type == "application/jsonl"
    assert parsed.title == "a"


def test_json_lines_that_differ_or_are_long_are_sections() -> None:
    parsed = read("a.ndjson", "\n".join(json.dumps({"id": n, "text": "word " * 200}) for n in (7, 8)))
    assert heading_lines(parsed) == ["## 7", "## 8"]
    assert parsed.text.count("text: word word") == 2


def test_one_kind_of_json_named_as_the_other_is_read() -> None:
    assert read("a.json", '{"a":1,"b":2}\n{"a":3,"b":4}\n').text.endswith("| 1 | 2 |\n| 3 | 4 |")
    assert read("a.jsonl", json.dumps({"a": {"b": 1}}, indent=1)).text == "a.b: 1"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_no_number_in_json_is_lost(value: Any) -> None:
    marked = json.dumps([value, 91827364])
    parsed = read("a.json", marked)
    assert "91827364" in parsed.text
    assert heading_lines(parsed) == ["#" * heading.level + " " + heading.text for heading in parsed.headings]


BOOK = """<?xml version="1.0"?><!DOCTYPE book [<!ENTITY prod "Widget">]><!-- unseen -->
<book xmlns="http://docbook.org/ns/docbook" xml:lang="en"><info><title>The <emphasis>Guide</emphasis></title>
<author><firstname>Ada</firstname></author></info><chapter xml:id="c1"><title>Start</title>
<para>One &prod; with <link href="x">a link</link>&nbsp;&mdash; R&amp;D.</para>
<itemizedlist><listitem><para>a</para></listitem><listitem>b<itemizedlist><listitem>c</listitem></itemizedlist></listitem>
</itemizedlist><section><title>Deep</title><programlisting>make
  all</programlisting><table><title>Options</title><tgroup><thead><row><entry>Name</entry><entry>Is</entry></row></thead>
<tbody><row><entry>-v</entry><entry>loud</entry></row></tbody></tgroup></table></section></chapter></book>"""


def test_a_book_in_xml_becomes_sections_paragraphs_lists_and_tables() -> None:
    parsed = read("a.xml", BOOK)
    assert parsed.text == (
        "# The Guide\n\nauthor.firstname: Ada\n\n## Start\n\nOne &prod; with a link — R&D.\n\n- a\n- b\n  - c\n\n"
        "### Deep\n\n```\nmake\n  all\n```\n\n#### Options\n\n| Name | Is |\n| --- | --- |\n| -v | loud |"
    )
    assert parsed.title == "The Guide"
    assert heading_lines(parsed) == ["# The Guide", "## Start", "### Deep", "#### Options"]


def test_records_in_xml_are_tables_and_values_lines() -> None:
    parsed = read(
        "a.xml",
        '<c owner="Ada" id="7"><s><host>h</host><port n="1">80</port></s><p>free words</p><dir>x</dir><dir>y</dir>'
        '<us><u name="root" uid="0"/><u name="ada" uid="1"/></us><m><k><a>1</a></k><k><a>2</a><b>3</b></k></m></c>',
    )
    assert parsed.text == (
        "owner: Ada\ns.host: h\ns.port.n: 1\ns.port: 80\n\nfree words\n\ndir: x, y\n\n"
        "| name | uid |\n| --- | --- |\n| root | 0 |\n| ada | 1 |\n\n| a | b |\n| --- | --- |\n| 1 |  |\n| 2 | 3 |"
    )
    long = read("b.xml", "<r>" + f"<b><title>T</title><text>{'word ' * 200}</text></b>" * 2 + "</r>")
    assert heading_lines(long) == ["# T", "# T"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "cp932"])
def test_xml_in_its_declared_encoding(encoding: str) -> None:
    words = "東京の住所" if encoding == "cp932" else "Straße"
    declared = "UTF-8" if encoding == "utf-16" else encoding
    content = f'<?xml version="1.0" encoding="{declared}"?><a><b>{words}</b></a>'.encode(encoding)
    assert read("a.xml", content).text == f"b: {words}"


def test_feeds_have_a_section_for_each_entry() -> None:
    parsed = read(
        "a.xml",
        '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:c="http://purl.org/rss/1.0/modules/content/">'
        "<channel><title>News</title><link>http://n</link><description>Daily</description><ttl>5</ttl>"
        "<item><title>First &amp;amp; best</title><dc:creator>Ada</dc:creator><pubDate>Tue, 19 Nov</pubDate>"
        "<guid>9</guid><category>x</category><category>y</category>"
        "<description>&lt;p&gt;Short words&lt;/p&gt;</description>"
        "<c:encoded><![CDATA[<p>Short words &nbsp;and <b>more</b></p><h3>Part</h3><ul><li>a</li></ul>]]></c:encoded>"
        "</item>"
        "<item><description>No title here</description></item></channel></rss>",
    )
    assert parsed.text == (
        "# News\n\nDaily\n\nlink: http://n\n\n## First & best\n\ncreator: Ada\npubDate: Tue, 19 Nov\ncategory: x, y"
        "\n\nShort words and more\n\n### Part\n\n- a\n\n## No title here\n\nNo title here"
    )
    assert heading_lines(parsed) == ["# News", "## First & best", "### Part", "## No title here"]


def test_html_that_nothing_closes_does_not_stall_feeds_and_notebooks() -> None:
    soup = "<p>words</p>" + "<b " * 60_000 + "<!--" * 60_000
    assert (
        "words"
        in read("a.xml", f"<rss><item><title>t</title><description>{escape(soup)}</description></item></rss>").text
    )
    assert "words" in notebook(code("x", {"output_type": "display_data", "data": {"text/html": soup}})).text


def test_sections_named_by_attributes_are_named_once() -> None:
    parsed = read("a.xml", '<a title="One"><b name="Two" kind="k"><c><d>x<i>y</i></d><p>z</p></c></b></a>')
    assert parsed.text == "# One\n\n## Two\n\nkind: k\n\nd: xy\n\nz"


def test_atom_with_xhtml_and_its_kinds_of_links() -> None:
    text = read(
        "a.atom",
        '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><link rel="self" href="http://no"/>'
        '<entry><title type="html">&lt;b&gt;Bold&lt;/b&gt;</title><link href="http://yes"/><id>urn:1</id>'
        '<author><name>Ada</name></author><category term="cat"/><content type="xhtml"><x:div '
        'xmlns:x="http://www.w3.org/1999/xhtml"><x:p>One</x:p><x:p>Two</x:p></x:div></content></entry></feed>',
    ).text
    assert text == "# A\n\n## Bold\n\nlink: http://yes\nauthor: Ada\ncategory: cat\n\nOne\n\nTwo"


def test_broken_xml_is_repaired_without_losing_words() -> None:
    text = read("a.xml", "<a><title>T</title><p>R&D costs 5 < 6</p><p>two<p>three</a>").text
    assert text == "# T\n\nR&D costs 5 < 6\n\ntwo\n\nthree"
    assert read("a.xml", "<a>one</a><b>two</b>words").text == "one\ntwo\nwords"
    assert read("a.xml", "no markup <at all").text == "no markup <at all"


def test_nesting_beyond_reason_is_read_without_tags() -> None:
    assert read("a.xml", "<a>" * 100_000 + "deep words" + "</a>" * 100_000).text == "deep words"
    nested = read("a.xml", "<a><b>x</b>" * 120 + "<c>deep words</c>" + "</a>" * 120).text
    assert "deep words" in nested


def test_entities_of_xml_are_neither_read_nor_multiplied(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("root:x:0:0")
    external = f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{secret}">]><a>before &x;</a>'
    assert read("a.xml", external).text == "before &x;"
    assert len(read("a.xml", f"{BOMB}<a>words &l12;</a>").text) < 100
    assert len(read("a.xml", f'{BOMB}<a b="&l12;">words</a>').text) < 1000


@pytest.mark.parametrize("content", ["<a/>", "<a><b/></a>", "<?xml version='1.0'?>", "<!-- only this -->"])
def test_xml_without_words_is_empty(content: str) -> None:
    assert refused("a.xml", content) == "empty_file"


@given(st.text(alphabet='<>/ab&;="! \n-[]?', max_size=120))
def test_no_soup_of_markup_breaks_the_reading_of_xml(soup: str) -> None:
    try:
        parsed = read("a.xml", f"<r>{soup}")
    except UnableToParse:
        return
    assert parsed.title


def test_notebooks_keep_prose_code_and_output_in_order() -> None:
    parsed = notebook(
        {"cell_type": "markdown", "source": ["# Title\n", "\n", f"![x](data:image/png;base64,{BASE64})"]},
        code(
            "print(1)\n# no heading", {"output_type": "stream", "name": "stdout", "text": ["\x1b[31m1%\r", "2%\r99%\n"]}
        ),
        {"cell_type": "markdown", "source": "```\nopen fence"},
        code(
            "'```'", {"output_type": "execute_result", "data": {"text/plain": "a b", "text/html": "<table>no</table>"}}
        ),
        code("boom()", {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["\x1b[0mfile"]}),
        {"cell_type": "raw", "source": "raw words"},
        kernelspec={"language": "python"},
        title="Of the metadata",
    )
    assert parsed.text == (
        "# Title\n\n![x](…)\n\n```python\nprint(1)\n# no heading\n```\n\n```\n99%\n```\n\n```\nopen fence\n```\n\n"
        "````python\n'```'\n````\n\n```\na b\n```\n\n```python\nboom()\n```\n\n```\nValueError: bad\n```\n\nraw words"
    )
    assert (parsed.title, heading_lines(parsed)) == ("Title", ["# Title"])


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"image/png": BASE64, "text/plain": "<Figure size 640x480 with 1 Axes>"}, ""),
        ({"text/html": "<table><tr><td>x</td><td>y</td></tr></table>"}, "x | y"),
        ({"text/html": "<b>styled</b>", "text/plain": "<pandas Styler at 0x7f>"}, "styled"),
        ({"text/markdown": "*md*", "text/plain": "<Markdown object>"}, "*md*"),
        ({"application/vnd.jupyter.widget-view+json": {}, "text/plain": "HBox(children=...)"}, ""),
        ({"text/plain": ["long line\n"] * 1000}, "long line\n" * 199 + "long line …"),
    ],
    ids=["image", "html", "object with html", "markdown", "widget", "long"],
)
def test_outputs_of_notebooks_are_shown_within_bounds(data: dict[str, Any], shown: str) -> None:
    text = notebook(code("x", {"output_type": "display_data", "data": data})).text
    assert text.partition("```\nx\n```")[2].strip("`\n") == shown
    assert "iVBOR" not in text


def test_notebooks_of_format_3() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {
            "cell_type": "code",
            "language": "r",
            "input": ["1+1"],
            "outputs": [{"output_type": "pyout", "text": ["2"], "png": BASE64}, {"output_type": "pyerr", "ename": "E"}],
        },
    ]
    parsed = read("a.ipynb", json.dumps({"nbformat": 3, "metadata": {"name": "n"}, "worksheets": [{"cells": cells}]}))
    assert parsed.text == "## Old\n\n```r\n1+1\n```\n\n```\n2\n```\n\n```\nE: \n```"
    assert (parsed.title, heading_lines(parsed)) == ("n", ["## Old"])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"cells": [{"cell_type": "code", "sou', "corrupt_file"),
        ('{"cells": ' + "[" * 100_000, "corrupt_file"),
        ('{"cells": [1]}', "corrupt_file"),
        ("[]", "corrupt_file"),
        ("{}", "corrupt_file"),
        ('{"cells": [], "metadata": {}}', "empty_file"),
        ('{"cells": [{"cell_type": "code", "source": 5, "outputs": {"a": 1}, "metadata": 0}]}', "empty_file"),
    ],
)
def test_notebooks_that_are_none(content: str, expected: str) -> None:
    assert refused("a.ipynb", content) == expected
