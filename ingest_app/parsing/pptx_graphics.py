"""What stands in the shapes of a slide: paragraphs, tables, charts as tables, SmartArt as lists."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest_app.parsing.blocks import Block
from ingest_app.parsing.package import Element

_LIST_MARKS = {"buAutoNum", "buBlip", "buChar", "buNone"}
_NOT_SHOWN = {"Fallback", "endParaRPr", "extLst", "pPr", "rPr"}
_LEVELS = {str(level): level for level in range(9)}
#: A chart of more cells is written series by series.
_MOST_CELLS = 200_000
# In number formats, what is quoted, escaped or bracketed says nothing about the kind of number.
_LITERALS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.')
_DATE_FORMAT = re.compile(r"y|d|mmm", re.I)
_TIME_FORMAT = re.compile(r"h", re.I)
_FIRST_DAY = datetime(1899, 12, 30)  # noqa: DTZ001 - days of spreadsheets have no zone


def local_name(element: Element) -> str:
    """The name without its namespace; empty for comments and entities."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def related(element: Element, name: str) -> str:
    """The id of a relation, in the attribute `r:<name>` of either variant of the format."""
    return next((value for key, value in element.attrib.items() if key.endswith("relationships}" + name)), "")


def paragraphs(body: Element | None, list_styles: Sequence[Element]) -> Iterator[Block]:
    """The paragraphs of a text body; `list_styles` say which levels have bullets, the nearest first."""
    inherited: dict[int, bool] = {}
    for found in () if body is None else body.iterfind("{*}p"):
        text = "".join(_text(found)).replace("\xad", "").strip()
        if not text:
            continue
        properties = found.find("{*}pPr")
        level = _LEVELS.get("0" if properties is None else properties.get("lvl", "0"), 0)
        if level not in inherited:
            styles = (style.find(f"{{*}}lvl{level + 1}pPr") for style in list_styles)
            inherited[level] = next((known for style in styles if (known := _has_bullet(style)) is not None), False)
        own = _has_bullet(properties)
        is_item = inherited[level] if own is None else own
        yield Block(text=text, depth=level if is_item else None)


def table(element: Element) -> Block:
    """A table of a slide. A merged cell is said once, in its first place."""
    rows = []
    for row in element.iterfind("{*}tr"):
        cells = []
        for cell in row.iterfind("{*}tc"):
            goes_on = {cell.get("hMerge"), cell.get("vMerge")} & {"1", "true"}
            found = [] if goes_on else list(paragraphs(cell.find("{*}txBody"), []))
            cells.append(" ".join(paragraph.text for paragraph in found))
        if any(cells):
            rows.append(cells)
    return Block(rows=rows)


def chart(root: Element) -> Iterator[Block]:
    """A chart: its title, those of its value axes, and its series as columns beside the categories."""
    if root.find("{*}chartData") is not None:
        yield from _newer_chart(root)
        return
    area = root.find("{*}chart/{*}plotArea")
    if area is None:
        return
    categories, others = _axis_titles(area)
    for title in (_title(root.find("{*}chart/{*}title")), *others):
        if title:
            yield Block(text=title)
    series = [_Series.of(element) for element in area.iter("{*}ser")]
    yield from _series_tables(series, corner=categories)


def diagram(root: Element) -> Iterator[Block]:
    """The points of a SmartArt with text, as they hang on each other."""
    points = {point.get("modelId", ""): point for point in root.iterfind("{*}ptLst/{*}pt")}
    children: dict[str, list[tuple[int, str]]] = {}
    for link in root.iterfind("{*}cxnLst/{*}cxn"):
        if link.get("type", "parOf") == "parOf":
            place = _point_number(link.get("srcOrd"))
            children.setdefault(link.get("srcId", ""), []).append((place, link.get("destId", "")))
    waiting = [(key, -1) for key, point in reversed(points.items()) if point.get("type") == "doc"]
    while waiting:
        key, depth = waiting.pop()
        point = points.pop(key, None)  # taken away, so that circles end
        if point is None:
            continue
        text = " ".join(paragraph.text for paragraph in paragraphs(point.find("{*}t"), []))
        if text:
            yield Block(text=text, depth=max(0, min(depth, 8)))
        waiting.extend((below, depth + 1) for _, below in sorted(children.get(key, []), reverse=True))


@dataclass(frozen=True, kw_only=True)
class _Series:
    """Columns of a chart by point number; `sizes` are those of bubbles."""

    name: str
    labels: dict[int, str]
    values: dict[int, str]
    sizes: dict[int, str]

    @classmethod
    def of(cls, element: Element) -> _Series:
        def points(*names: str) -> dict[int, str]:
            return _points(next((found for name in names for found in element.iterfind("{*}" + name)), None))

        values = points("val", "yVal")
        for label in element.iterfind("{*}dLbls/{*}dLbl"):
            index, words = label.find("{*}idx"), _title(label)
            if index is not None and words:
                place = _point_number(index.get("val"))
                values[place] = f"{values.get(place, '')} {words}".strip()
        return cls(name=_title(element), labels=points("cat", "xVal"), values=values, sizes=points("bubbleSize"))


def _series_tables(series: list[_Series], *, corner: str) -> Iterator[Block]:
    if not series:
        return
    indices = sorted({index for one in series for index in (*one.labels, *one.values)})
    shared = next((one.labels for one in series if one.labels), {})
    together = all(one.labels in ({}, shared) and not one.sizes for one in series)
    if together and len(indices) * len(series) <= _MOST_CELLS:
        rows = [[corner, *(one.name for one in series)]]
        for index in indices:
            rows.append([shared.get(index, str(index + 1)), *(one.values.get(index, "") for one in series)])
        yield Block(rows=rows)
        return
    for one in series:
        rows = [[corner, one.name]]
        for index in sorted({*one.labels, *one.values}):
            rows.append([one.labels.get(index, str(index + 1)), one.values.get(index, "")])
            rows[-1].extend([one.sizes[index]] if index in one.sizes else [])
        yield Block(rows=rows)


def _newer_chart(root: Element) -> Iterator[Block]:
    """Charts since 2016, such as waterfalls and treemaps: each set of data is a table."""
    title = _title(root.find("{*}chart/{*}title"))
    if title:
        yield Block(text=title)
    names: dict[str, str] = {}
    for series in root.iterfind("{*}chart/{*}plotArea/{*}plotAreaRegion/{*}series"):
        reference = series.find("{*}dataId")
        names.setdefault("" if reference is None else reference.get("val", ""), _title(series))
    for data in root.iterfind("{*}chartData/{*}data"):
        # The inner level of categories comes first in the file and last on the slide.
        words = [_points(level) for found in data.iterfind("{*}strDim") for level in reversed(found.findall("{*}lvl"))]
        values = [_points(level) for found in data.iterfind("{*}numDim") for level in found.iterfind("{*}lvl")]
        columns = [*words, *values]
        rows = [[*[""] * len(words), names.get(data.get("id", ""), "")]]
        for index in sorted({index for column in columns for index in column}):
            rows.append([column.get(index, "") for column in columns])
            if len(rows) * len(columns) > _MOST_CELLS:
                break
        yield Block(rows=rows)


def _axis_titles(area: Element) -> tuple[str, list[str]]:
    """The title of the axis of categories, and those of the axes of values."""
    categories = ""
    others: list[str] = []
    for axis in area:
        kind = local_name(axis)
        if kind not in ("catAx", "dateAx", "serAx", "valAx"):
            continue
        position = axis.find("{*}axPos")
        is_across = position is not None and position.get("val") in ("b", "t")
        title = _title(axis.find("{*}title"))
        if title and not categories and (kind != "valAx" or (is_across and area.find("{*}catAx") is None)):
            categories = title
        elif title:
            others.append(title)
    return categories, others


def _title(element: Element | None) -> str:
    """The words of a title or of the name of a series, typed in or taken from a cell."""
    text = None if element is None else element.find("{*}tx")
    if text is None:
        return ""
    typed = (part.text for body in text.iterfind("{*}rich") for part in paragraphs(body, []))
    cells = (cell.text or "" for cell in text.iter("{*}v"))
    return " ".join(" ".join(found.split()) for found in (*typed, *cells) if found.strip())


def _points(element: Element | None) -> dict[int, str]:
    """Point number to what the axis or the cell shows. Categories of several levels are said together."""
    if element is None:
        return {}
    inner, *outer = (_level(level) for level in [*element.iter("{*}lvl")] or [element])
    for labels in outer:
        current = ""  # an outer label stands for all points up to the next one
        for index in sorted({*inner, *labels}):
            current = labels.get(index, current)
            inner[index] = f"{current} {inner.get(index, '')}".strip()
    return inner


def _level(element: Element) -> dict[int, str]:
    code = next((found.text or "" for found in element.iter("{*}formatCode")), element.get("formatCode", ""))
    found: dict[int, str] = {}
    for point in element.iter("{*}pt"):
        value = point.findtext("{*}v") or point.text or ""
        found[_point_number(point.get("idx"))] = _shown(value.strip(), point.get("formatCode", code))
    return found


def _point_number(text: str | None) -> int:
    return int(text) if text and re.fullmatch("[0-9]{1,9}", text) else 0


def _shown(value: str, format_code: str) -> str:
    """A number as its format shows it: dates, percentages, and no digits that only computers see."""
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    code = _LITERALS.sub("", format_code.partition(";")[0])
    if "%" in code:
        return f"{number * 100:.{code.rpartition('.')[2].count('0') if '.' in code else 0}f}%"
    date, time = (wanted.search(code) for wanted in (_DATE_FORMAT, _TIME_FORMAT))
    if (date or time) and code.lower() != "standard" and 0 <= number < 2_958_466:
        moment = _FIRST_DAY + timedelta(days=number)
        return " ".join([f"{moment:%Y-%m-%d}"] * bool(date) + [f"{moment:%H:%M}"] * bool(time))
    return f"{number:.0f}" if number == int(number) and abs(number) < 1e15 else f"{number:.12g}"


def _has_bullet(properties: Element | None) -> bool | None:
    """Whether properties make a paragraph an item of a list; None where they say nothing of it."""
    kinds = () if properties is None else map(local_name, properties)
    return next((kind != "buNone" for kind in kinds if kind in _LIST_MARKS), None)


def _text(element: Element) -> Iterator[str]:
    for child in element:
        kind = local_name(child)
        if kind == "t":
            yield child.text or ""
        elif kind == "br":
            yield "\n"
        elif kind and kind not in _NOT_SHOWN and child.get("type") != "slidenum":
            yield from _text(child)
