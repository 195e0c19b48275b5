"""`manage.py filters` and `manage.py search --filter` (issue 7, point 4: named filters)."""

from __future__ import annotations

import pytest

from collections_app.filters import list_filters
from tests.acceptance.cli.running import output_of, refused
from tests.acceptance.cli.test_search_command import TEXTS, places
from tests.integration.search.asked import filled

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _collections(db: None) -> None:
    filled("c", TEXTS, metadata={name: {"kind": name} for name in TEXTS})


def test_a_filter_is_saved_listed_used_renamed_and_removed() -> None:
    assert output_of("filters", "c") == "There are no filters.\n"
    assert output_of("filters", "c", "--save", "one", "--where", '{"kind": "a"}', "--description", "D") == "Saved.\n"
    assert output_of("filters", "c", "--save", "one", "--where", '{"kind": "c"}') == "Replaced.\n"
    assert output_of("filters", "c") == 'one  {"kind": "c"}\n    D\n'
    assert places(output_of("search", "c", "fox", "--filter", "one")) == ["c"]
    assert places(output_of("search", "c", "fox", "--filter", "one", "--where", '{"kind": "a"}')) == []
    assert output_of("filters", "c", "--rename", "one", "two") == "Renamed.\n"
    assert "Filter 'one' not found in collection 'c'. Known there: 'two'." in refused(
        "search", "c", "fox", "--filter", "one"
    )
    assert output_of("filters", "c", "--remove", "two") == "Removed.\n"


def test_a_filter_is_tried() -> None:
    printed = output_of("filters", "c", "--try", "--where", '{"kind": {"$ne": "a"}}').splitlines()
    assert printed[0] == '"kind" is not "a"'
    assert printed[1] == '  "kind" is not "a": documents without "kind" pass.'
    assert printed[2] == "Passages: 2"
    assert len(printed) == 5
    assert "No filter: every document passes." in output_of("filters", "c", "--try", "--where", "{}")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--save", "x"), "--where belongs to"),
        (("--where", "{}"), "--where belongs to"),
        (("--remove", "x", "--description", "d"), "--description belongs to"),
        (("--save", "x", "--where", "{"), "must be valid JSON"),
        (("--save", "x", "--where", "{}"), "must not be empty"),
        (("--save", "a/b", "--where", '{"a": 1}'), "A filter's name has"),
        (("--remove", "x"), "not found"),
    ],
)
def test_mistakes_are_sentences(arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in refused("filters", "c", *arguments)
    assert list_filters(collection_name="c") == []
