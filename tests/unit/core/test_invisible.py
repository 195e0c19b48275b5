"""Marks for what is invisible in names and texts."""

from __future__ import annotations

import pytest

from core_app.names import readable, visible

PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.pdf"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("guide.md", "guide.md"),
        ("invoice\u202efdp.exe", "invoice[U+202E]fdp.exe"),
        ("a\u2066b\u2069\u200e\u061c", "a[U+2066]b[U+2069][U+200E][U+061C]"),
        ("a\u200bb\u2060c\ufeffd\u00ade", "a[U+200B]b[U+2060]c[U+FEFF]d[U+00AD]e"),
        ("pay\u200dpal", "pay[U+200D]pal"),
        ("\u3164\u2800\U000e0041", "[U+3164][U+2800][U+E0041]"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.pdf",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.pdf",
        ),
        ("क्\u200dष", "क्\u200dष"),
        ("👩\u200d👧 ❤️\u200d🔥", "👩\u200d👧 ❤️\u200d🔥"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_names(name: str, shown: str) -> None:
    assert visible(name) == shown
    assert visible(shown) == shown


def test_texts_keep_what_orders_nothing() -> None:
    assert readable("a\u200bb\u200cc\u202dd\u2068e") == "a\u200bb\u200cc[U+202D]d[U+2068]e"
