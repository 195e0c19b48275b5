"""Presentations and OpenDocument text, built on the spot: structure, what is shown and what is not, harm."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.presentation import Presentation as Deck
from pptx.slide import Slide
from pptx.util import Inches

from ingest_app.parsing import parse
from tests.unit.ingest.package_files import LAUGHS, archive, changed, headings, refused


def pptx_file(build: Callable[[Deck], None]) -> bytes:
    deck = Presentation()
    build(deck)
    stream = io.BytesIO()
    deck.save(stream)
    return stream.getvalue()


def add_text(slide: Slide, words: str, *, left: float, top: float) -> None:
    slide.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(1)).text_frame.text = words


def plain_deck(deck: Deck) -> None:
    cover = deck.slides.add_slide(deck.slide_layouts[0])
    cover.shapes.title.text, cover.placeholders[1].text = "Annual\vreport", "For the board"
    points = deck.slides.add_slide(deck.slide_layouts[1])
    points.shapes.title.text = "Results"
    frame = points.placeholders[1].text_frame
    frame.text = "Sales rose"
    for words, level in (("in Europe", 1), ("in Asia", 1), ("Costs fell", 0)):
        paragraph = frame.add_paragraph()
        paragraph.text, paragraph.level = words, level
    points.notes_slide.notes_text_frame.text = "Mention the \u2603 harvest."
    deck.slides.add_slide(deck.slide_layouts[6])
    last = deck.slides.add_slide(deck.slide_layouts[6])
    last._element.set("show", "0")
    add_text(last, "Thank you", left=1, top=1)
    add_text(last, "Questions?\nAsk us.", left=1, top=3)


def test_slides_become_pages_with_their_title_list_and_notes() -> None:
    parsed = parse(name="a.pptx", content=pptx_file(plain_deck))
    assert parsed.text == (
        "# Annual report\n\nFor the board\n\n"
        "# Results\n\n- Sales rose\n  - in Europe\n  - in Asia\n- Costs fell\n\nNotes: Mention the \u2603 harvest.\n\n"
        "# Thank you\n\nQuestions?\n\nAsk us."
    )
    assert parsed.title == "Annual report"
    assert headings(parsed) == [(1, "Annual report"), (1, "Results"), (1, "Thank you")]
    starts = [(page.number, parsed.text[page.offset :].split("\n")[0]) for page in parsed.pages]
    assert starts == [(1, "# Annual report"), (2, "# Results"), (4, "# Thank you")]


def test_slides_follow_the_presentation_and_not_the_names_of_their_files() -> None:
    def build(deck: Deck) -> None:
        for words in ("one", "two", "three"):
            deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = words
        ids = deck.slides._sldIdLst
        ids.insert(0, ids[2])

    parsed = parse(name="a.pptx", content=pptx_file(build))
    assert [text for _, text in headings(parsed)] == ["three", "one", "two"]


def test_shapes_are_read_from_top_to_bottom_and_left_to_right_and_groups_together() -> None:
    def build(deck: Deck) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        add_text(slide, "bottom", left=1, top=6)
        add_text(slide, "right", left=6, top=1.95)
        add_text(slide, "left", left=1, top=2)
        group = slide.shapes.add_group_shape()
        for words, top in (("group end", 9), ("group start", 4)):
            group.shapes.add_textbox(Inches(1), Inches(top), Inches(1), Inches(1)).text_frame.text = words
        hidden = slide.shapes.add_textbox(0, 0, 9, 9)
        hidden.text_frame.text = "hidden"
        hidden._element.nvSpPr.cNvPr.set("hidden", "1")
        slide.shapes.title.text = "Title"

    text = parse(name="a.pptx", content=pptx_file(build)).text
    assert text.split("\n\n") == ["# Title", "left", "right", "group start", "group end", "bottom"]


def test_tables_and_charts_of_slides_become_tables() -> None:
    def build(deck: Deck) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        table = slide.shapes.add_table(3, 3, 0, Inches(2), Inches(5), Inches(1)).table
        table.cell(0, 0).merge(table.cell(0, 1))
        table.cell(1, 0).merge(table.cell(2, 0))
        for row, column, words in ((0, 0, "wide"), (0, 2, "c"), (1, 0, "tall"), (1, 1, "a|b"), (2, 2, "end")):
            table.cell(row, column).text = words
        data = CategoryChartData(number_format="0.0%")  # type: ignore[no-untyped-call]
        data.categories = ["Q1", "Q2"]
        data.add_series("North", (0.125, None))  # type: ignore[no-untyped-call]
        data.add_series("South", (0.1 + 0.2, 1))  # type: ignore[no-untyped-call]
        chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, Inches(5), 9, 9, data).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "Share of sales"

    text = parse(name="a.pptx", content=pptx_file(build)).text
    assert "| wide |  | c |\n| --- | --- | --- |\n| tall | a\\|b |  |\n|  |  | end |" in text
    assert text.endswith(
        "Share of sales\n\n|  | North | South |\n| --- | --- | --- |\n| Q1 | 12.5% | 30.0% |\n| Q2 |  | 100.0% |"
    )


def with_smart_art(parts: dict[str, bytes]) -> None:
    main = "http://schemas.openxmlformats.org"
    frame = (
        f'<p:graphicFrame xmlns:r="{main}/officeDocument/2006/relationships"><a:graphic><a:graphicData>'
        f'<d:relIds xmlns:d="{main}/drawingml/2006/diagram" r:dm="rId77"/></a:graphicData></a:graphic></p:graphicFrame>'
    )
    slide, relations = "ppt/slides/slide1.xml", "ppt/slides/_rels/slide1.xml.rels"
    parts[slide] = parts[slide].replace(b"</p:spTree>", frame.encode() + b"</p:spTree>")
    link = '<Relationship Id="rId77" Type="x/diagramData" Target="../diagrams/data1.xml"/></Relationships>'
    parts[relations] = parts[relations].replace(b"</Relationships>", link.encode())
    texts = {"2": "Plan", "3": "Do", "4": "at once"}
    points = "".join(
        f'<pt modelId="{key}"><t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></t></pt>' for key, text in texts.items()
    )
    links = (("1", "3", 1), ("1", "2", 0), ("3", "4", 0), ("4", "1", 0))
    ends = "".join(f'<cxn srcId="{start}" destId="{end}" srcOrd="{place}"/>' for start, end, place in links)
    parts["ppt/diagrams/data1.xml"] = (
        f'<dataModel xmlns="{main}/d" xmlns:a="{main}/a"><ptLst><pt modelId="1" type="doc"/>{points}</ptLst>'
        f"<cxnLst>{ends}</cxnLst></dataModel>"
    ).encode()


def test_smart_art_is_a_list_and_its_circles_end() -> None:
    def build(deck: Deck) -> None:
        deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Steps"

    parsed = parse(name="a.pptx", content=changed(pptx_file(build), with_smart_art))
    assert parsed.text == "# Steps\n\n- Plan\n- Do\n  - at once"


def test_what_every_slide_shows_is_kept_once_and_slide_numbers_never() -> None:
    def build(deck: Deck) -> None:
        for words in ("one", "two"):
            slide = deck.slides.add_slide(deck.slide_layouts[5])
            slide.shapes.title.text = words
            for layout_shape in list(slide.slide_layout.placeholders)[1:]:
                slide.shapes.clone_placeholder(layout_shape)
                kind = layout_shape.element.ph.get("type")
                added = slide.shapes[-1].text_frame
                added.text = {"ftr": "ACME confidential", "dt": "1 May", "sldNum": "17"}[kind]

    def with_master_text(parts: dict[str, bytes]) -> None:
        shape = b"<p:sp><p:txBody><a:p><a:r><a:t>www.acme.example</a:t></a:r></a:p></p:txBody></p:sp></p:spTree>"
        for name in [name for name in parts if name.startswith("ppt/slideMasters/slideMaster")]:
            parts[name] = parts[name].replace(b"</p:spTree>", shape)

    text = parse(name="a.pptx", content=changed(pptx_file(build), with_master_text)).text
    assert text == "# one\n\n1 May\n\nACME confidential\n\nwww.acme.example\n\n# two"


def test_the_strict_variant_of_the_format_reads_the_same() -> None:
    content = pptx_file(plain_deck)

    def to_strict(parts: dict[str, bytes]) -> None:
        for name, part in parts.items():
            part = part.replace(b"schemas.openxmlformats.org/package/2006/relationships", b"KEEP")
            parts[name] = re.sub(
                rb"http://schemas\.openxmlformats\.org/(\w+)/2006/", rb"http://purl.oclc.org/ooxml/\1/", part
            ).replace(b"KEEP", b"schemas.openxmlformats.org/package/2006/relationships")

    assert parse(name="a.pptx", content=changed(content, to_strict)).text == parse(name="a.pptx", content=content).text


@pytest.mark.parametrize(
    ("properties", "cover", "title"),
    [("Budget 2024", False, "Budget 2024"), ("PowerPoint Presentation", False, "One"), ("Budget", True, "One")],
)
def test_title_of_a_cover_then_of_the_properties_then_of_the_first_slide(
    properties: str, cover: bool, title: str
) -> None:
    def build(deck: Deck) -> None:
        deck.core_properties.title = properties
        deck.slides.add_slide(deck.slide_layouts[0 if cover else 5]).shapes.title.text = "One"

    assert parse(name="a.pptx", content=pptx_file(build)).title == title


@pytest.mark.parametrize("words", ["x" * 150, "y" * 300])
def test_long_titles_of_slides_lose_no_word(words: str) -> None:
    def build(deck: Deck) -> None:
        deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = words

    parsed = parse(name="a.pptx", content=pptx_file(build))
    assert words in parsed.text
    assert len(parsed.headings) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: parts.pop("ppt/slides/slide2.xml"),
        lambda parts: parts.update({"ppt/slides/slide2.xml": b"<p:sld"}),
        lambda parts: parts.update({"ppt/presentation.xml": b""}),
        lambda parts: parts.update({"ppt/_rels/presentation.xml.rels": b"noise"}),
        lambda parts: parts.update({"ppt/slides/slide2.xml": b"<a>" * 300 + b"</a>" * 300}),
    ],
    ids=["slide missing", "slide broken", "no presentation", "no relations", "deep nesting"],
)
def test_a_deck_that_lost_a_slide_is_called_corrupt(change: Callable[[dict[str, bytes]], None]) -> None:
    assert refused("a.pptx", changed(pptx_file(plain_deck), change)) == "corrupt_file"


def test_a_slide_named_many_times_is_read_once_and_an_empty_deck_is_empty() -> None:
    def repeat(parts: dict[str, bytes]) -> None:
        name = "ppt/presentation.xml"
        parts[name] = re.sub(rb"(<p:sldId [^>]*>)", rb"\1" * 5000, parts[name])

    text = parse(name="a.pptx", content=changed(pptx_file(plain_deck), repeat)).text
    assert text.count("Results") == 1
    assert refused("a.pptx", pptx_file(lambda _: None)) == "empty_file"


def with_entity(declarations: str, words: str) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        for name in ("ppt/slides/slide1.xml", "content.xml", "one.xhtml"):
            if name in parts:
                part = re.sub(rb"<\?xml[^>]*>\s*", b"", parts[name]).replace(b"Annual", words.encode())
                parts[name] = f'<?xml version="1.0"?><!DOCTYPE x [{declarations}]>'.encode() + part

    return change


def odt(body: str, *, styles: str = "", layout: str = "", **parts: str) -> bytes:
    """A document of this body; `styles` are of the document, `layout` is the inside of styles.xml."""
    spaces = " ".join(
        f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for prefix, name in (
            *(("draw", "drawing"), ("fo", "xsl-fo-compatible"), ("office", "office"), ("style", "style")),
            *(("svg", "svg-compatible"), ("table", "table"), ("text", "text"), ("chart", "chart")),
        )
    )
    links = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    root = f"<office:document-content {spaces} {links}>%s</office:document-content>"
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": root % f"<office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:text>{body}</office:text></office:body>",
            "styles.xml": root % layout,
            **{name.replace("_", "/", 1) + ".xml": root % inside for name, inside in parts.items()},
        }
    )


def odt_text(body: str, *, styles: str = "", layout: str = "", **parts: str) -> str:
    return parse(name="a.odt", content=odt(body, styles=styles, layout=layout, **parts)).text


HEADINGS_AND_LISTS = """
<text:p text:style-name="Title">Annual</text:p>
<text:h text:outline-level="1">Part   one</text:h>
<text:p>One<text:s text:c="2"/>two<text:tab/>three<text:line-break/>next
 line &#xAD;of <text:a xlink:href="http://x.example">a link</text:a>.</text:p>
<text:list><text:list-item><text:p>first</text:p><text:p>goes on</text:p>
 <text:list><text:list-item><text:p>inner</text:p></text:list-item></text:list></text:list-item>
 <text:list-item><text:p>second</text:p></text:list-item></text:list>
<text:list><text:list-item><text:h text:outline-level="2">Numbered heading</text:h></text:list-item></text:list>
<text:p>See<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note.</text:p>
</text:note-body></text:note> below.</text:p>
<text:p text:style-name="Code">if x:</text:p><text:p text:style-name="Code"><text:s text:c="4"/>y()</text:p>
"""
CODE = '<style:style style:name="Code" style:family="paragraph" style:parent-style-name="Preformatted_20_Text"/>'


def test_odt_structure_becomes_markdown() -> None:
    parsed = parse(name="a.odt", content=odt(HEADINGS_AND_LISTS, styles=CODE))
    assert parsed.text == (
        "# Annual\n\n# Part one\n\nOne  two\tthree\nnext line of a link.\n\n- first\n\n  goes on\n\n"
        "  - inner\n- second\n\n## Numbered heading\n\nSee[^1] below.\n\nif x:\n    y()\n\n[^1]: A note."
    )
    assert headings(parsed) == [(1, "Annual"), (1, "Part one"), (2, "Numbered heading")]
    assert parsed.title == "Annual"


def test_odt_titles() -> None:
    named = odt("<text:h>Head</text:h>", meta="<office:meta><dc:title> My \n title</dc:title></office:meta>")
    assert parse(name="a.odt", content=named).title == "My title"
    assert parse(name="a.odt", content=odt("<text:p>x</text:p><text:h>Head</text:h>")).title == "Head"
    assert parse(name="a.odt", content=odt("<text:p>x</text:p>")).title == "a"


def test_odt_leaves_out_what_is_deleted_hidden_or_only_described() -> None:
    styles = (
        '<style:style style:name="T1" style:family="text"><style:text-properties text:display="none"/></style:style>'
    )
    body = """<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion>
    </text:changed-region></text:tracked-changes><text:table-of-content><text:p>Contents</text:p></text:table-of-content>
    <text:p>Kept<office:annotation><text:p>remark</text:p></office:annotation> <text:span text:style-name="T1">veiled
    </text:span><text:ruby><text:ruby-base>base</text:ruby-base><text:ruby-text>aid</text:ruby-text></text:ruby>
    <draw:frame><draw:image xlink:href="x.png"/><svg:desc>described</svg:desc></draw:frame></text:p>
    <text:section text:display="none"><text:p>hidden</text:p></text:section>"""
    assert odt_text(body, styles=styles) == "Kept base"


def test_odt_tables_with_merged_repeated_and_nested_cells() -> None:
    inner = (
        "<table:table><table:table-row><table:table-cell><text:p>in</text:p></table:table-cell>"
        "<table:table-cell><text:p>ner</text:p></table:table-cell></table:table-row></table:table>"
    )
    body = f"""<table:table><table:table-header-rows><table:table-row>
    <table:table-cell table:number-columns-spanned="2"><text:p>wide</text:p></table:table-cell>
    <table:covered-table-cell/><table:table-cell><text:p>c</text:p></table:table-cell></table:table-row>
    </table:table-header-rows><table:table-row table:number-rows-repeated="2">
    <table:table-cell table:number-columns-repeated="2"><text:p>x</text:p></table:table-cell>
    <table:table-cell>{inner}</table:table-cell><table:table-cell table:number-columns-repeated="16380"/>
    </table:table-row><table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row>
    </table:table>"""
    row = "| x | x | in, ner |"
    assert odt_text(body) == "\n".join(["| wide |  | c |", "| --- | --- | --- |", row, row])


def test_odt_repetitions_without_bound_end() -> None:
    many = "4000000000"
    body = (
        f'<text:p>a<text:s text:c="{many}"/>b</text:p>'
        f'<table:table><table:table-row table:number-rows-repeated="{many}">'
        f'<table:table-cell table:number-columns-repeated="{many}"><text:p>x</text:p></table:table-cell>'
        "</table:table-row></table:table>"
    )
    started = time.monotonic()
    assert len(odt_text(body)) < 1_000_000
    assert time.monotonic() - started < 10


def test_odt_text_boxes_formulas_and_charts_are_read() -> None:
    body = """<text:p>Before <draw:frame><draw:object xlink:href="./Formula"/><svg:title>f</svg:title></draw:frame> and
    <draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box></draw:frame>after.</text:p>
    <text:p><draw:frame><draw:object xlink:href="./Chart"/></draw:frame></text:p>"""
    formula = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mi>E</mi><mo>=</mo><mi>m</mi>'
        "<annotation>E = m</annotation></semantics></math>"
    )
    chart = """<office:body><office:chart><chart:chart><chart:title><text:p>Sales</text:p></chart:title><table:table>
    <table:table-row><table:table-cell/><table:table-cell><text:p>2024</text:p></table:table-cell></table:table-row>
    <table:table-row><table:table-cell><text:p>North</text:p></table:table-cell><table:table-cell><text:p>7</text:p>
    </table:table-cell></table:table-row></table:table></chart:chart></office:chart></office:body>"""
    assert odt_text(body, Formula_content=formula, Chart_content=chart) == (
        "Before E = m and after.\n\nin a box\n\nSales\n\n|  | 2024 |\n| --- | --- |\n| North | 7 |"
    )


def test_odt_headers_and_footers_of_pages_in_use_are_kept_once_without_page_numbers() -> None:
    layout = """<office:master-styles>
    <style:master-page style:name="First" style:next-style-name="Standard"><style:header>
    <text:p>ACME</text:p></style:header></style:master-page>
    <style:master-page style:name="Standard"><style:header><text:p>ACME</text:p></style:header>
    <style:footer><text:p>Page <text:page-number>1</text:page-number> of 3</text:p><text:p>Confidential</text:p>
    </style:footer></style:master-page>
    <style:master-page style:name="Unused"><style:header><text:p>never</text:p></style:header></style:master-page>
    </office:master-styles>"""
    assert odt_text("<text:p>Body</text:p>", layout=layout) == "ACME\n\nBody\n\nConfidential"


def test_encrypted_and_damaged_odt_are_told_apart() -> None:
    sealed = '<manifest xmlns="m"><file-entry><encryption-data/></file-entry></manifest>'
    with_manifest = changed(odt("<text:p>x</text:p>"), lambda p: p.update({"META-INF/manifest.xml": sealed.encode()}))
    assert refused("a.odt", with_manifest) == "encrypted"
    content = odt("<text:p>" + "words " * 500 + "</text:p>")
    assert refused("a.odt", content[: len(content) // 2]) == "corrupt_file"
    assert refused("a.odt", changed(content, lambda p: p.update({"content.xml": b"<office"}))) == "corrupt_file"
    assert refused("a.odt", odt("<text:list><text:list-item>" * 200 + "</text:list-item></text:list>" * 200)) == (
        "corrupt_file"
    )
    assert refused("a.odt", odt("<text:p/>")) == "empty_file"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pptx", pptx_file(plain_deck)),
        ("a.odt", odt("<text:p>Annual report</text:p>")),
    ],
)
def test_entities_neither_read_files_nor_multiply(tmp_path: Path, name: str, content: bytes) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("root:x:0:0")
    outside = changed(content, with_entity(f'<!ENTITY x SYSTEM "file://{secret}">', "&x;"))
    text = parse(name=name, content=outside).text
    assert "root:" not in text
    assert "report" in text
    assert refused(name, changed(content, with_entity(LAUGHS, "&l12;"))) == "corrupt_file"
