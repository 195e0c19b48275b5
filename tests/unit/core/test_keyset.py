"""Pages that begin at a key."""

from __future__ import annotations

import pytest

from core_app.keyset import LARGEST_KEY, Listed, Place, key_from, page_of, place_from


def read(place: Place, size: int = 2, count: int = 5) -> Listed[int]:
    """A page of the numbers `count` to 1, the largest first, as a database would read it."""
    rows = list(range(count, 0, -1))
    if place.is_backwards:
        rows = [row for row in reversed(rows) if row > (place.before or 0)]
    elif place.after is not None:
        rows = [row for row in rows if row < place.after]
    return page_of(rows[: size + 1], size=size, place=place, key=lambda row: row)


def test_pages_lead_to_the_end_and_back() -> None:
    pages = [read(Place())]
    while (after := pages[-1].after) is not None:
        pages.append(read(Place(after=after)))
    assert [list(page.rows) for page in pages] == [[5, 4], [3, 2], [1]]
    back = [pages[-1]]
    while (before := back[-1].before) is not None:
        back.append(read(Place(before=before)))
    assert [list(page.rows) for page in back] == [[1], [3, 2], [5, 4]]


def test_a_page_of_nothing_leads_nowhere() -> None:
    assert read(Place(after=1)) == Listed(rows=[], before=None, after=None)


@pytest.mark.parametrize("text", [None, "", "-1", "1.5", "x", "²", "٣"])
def test_what_is_no_key_is_none(text: str | None) -> None:
    assert key_from(text) is None


def test_a_key_that_no_row_can_have_is_the_largest() -> None:
    assert key_from("9" * 5000) == LARGEST_KEY


def test_before_goes_first() -> None:
    assert place_from({"before": "3", "after": "x"}) == Place(before=3)
    assert place_from({"after": "7"}) == Place(after=7)
    assert place_from({}) == Place()
