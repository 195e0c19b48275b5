"""What commands print of names that they did not choose."""

from __future__ import annotations

import pytest

from core_app.names import printable
from ingest_app.watching import NAME_WIDTH, Tally

ESCAPES = {
    "colour": "\x1b[31mred\x1b[0m.md",
    "title of the window": "\x1b]0;gone\x07.md",
    "one byte": "\x9b2J.md",
    "a line of its own": "a.md\nb.md  ok",
    "over the line": "gone\r.md",
    "back": "secret\x08\x08\x08\x08\x08\x08.md",
    "the other way round": "\N{RIGHT-TO-LEFT OVERRIDE}dm.exe",
    "isolated": "\N{LEFT-TO-RIGHT ISOLATE}a\N{POP DIRECTIONAL ISOLATE}.md",
    "of no width": "a\N{ZERO WIDTH SPACE}.md",
    "line separator": "a\N{LINE SEPARATOR}b.md",
    "half of a character": "\udcff.md",
}
every_escape = pytest.mark.parametrize("name", ESCAPES.values(), ids=ESCAPES.keys())


@every_escape
def test_nothing_that_a_terminal_obeys_is_left(name: str) -> None:
    shown = printable(name)
    assert shown.isprintable()
    assert len(shown) == len(name), "each stays a character that can be seen"
    assert "\N{REPLACEMENT CHARACTER}" in shown


def test_other_names_stay_as_they_are() -> None:
    for name in ("a b.md", "docs/ü.txt", "日本語.md", "עברית.md", "🙂.md"):
        assert printable(name) == name


@every_escape
def test_a_failure_is_one_line_of_plain_text(name: str) -> None:
    tally = Tally(failures=[(name, "unreadable", f"{name} could not be read."), ("b.md", "too_large", "Split it.")])
    lines = list(tally.table())
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert lines[0].startswith(printable(name))
    assert "unreadable" in lines[0]


def test_the_end_of_a_long_name_is_shown() -> None:
    name = "\x1b[31m" + "deep/" * 20 + "last\x1b[0m.md"
    (line,) = Tally(failures=[(name, "unreadable", "Gone.")]).table()
    shown = line[:NAME_WIDTH]
    assert line.isprintable()
    assert shown.startswith("…")
    assert shown.endswith("/last\N{REPLACEMENT CHARACTER}[0m.md")
