"""Words of two languages side by side: searched, merged, deleted and forgotten each by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import connection

from core_app.sql import migration_sql
from stores_app.models import Segment
from tests.integration.stores.shelf import Shelf

pytestmark = pytest.mark.django_db


def reword(shelf: Shelf, *names: str) -> None:
    texts = dict(zip(names, names, strict=True))
    with shelf.locked():
        shelf.store.reword(
            collection_id=shelf.collection.pk,
            language="german",
            texts={shelf.ids[name]: text for name, text in texts.items()},
        )


def reworded(shelf: Shelf) -> int:
    return shelf.store.reworded(collection_id=shelf.collection.pk, language="german")


def in_german(shelf: Shelf, word: str) -> list[str]:
    shelf.bm25 = replace(shelf.bm25, language="german")
    found = [name for name, _ in shelf.words(word)]
    shelf.bm25 = replace(shelf.bm25, language="english")
    return found


def test_a_search_sees_the_words_of_its_language_alone(shelf: Shelf) -> None:
    shelf.add({"Katze": "Katze", "Katzen": "Katzen"})
    alone = shelf.words("Katze")
    assert in_german(shelf, "Katze") == []
    reword(shelf, "Katze", "Katzen")
    assert shelf.words("Katze") == alone, "neither more hits nor other statistics"
    assert in_german(shelf, "Katze") == ["Katze", "Katzen"]


def test_what_is_removed_is_gone_from_both(shelf: Shelf) -> None:
    shelf.add({"Katze": "Katze", "Katzen": "Katzen"})
    reword(shelf, "Katze", "Katzen")
    shelf.remove("Katze")
    assert shelf.words("Katze") == []
    assert in_german(shelf, "Katze") == ["Katzen"]
    assert reworded(shelf) == shelf.ids["Katzen"]


def test_merging_puts_no_two_languages_together(shelf: Shelf) -> None:
    names = [f"Katzen {n}" for n in range(8)]
    for name in names:
        shelf.add({name: name})
        reword(shelf, name)
    before = shelf.words("Katzen 3")
    assert shelf.compact() > 0
    assert sorted(Segment.objects.values_list("language", "size")) == [("english", 8), ("german", 8)]
    assert shelf.words("Katzen 3") == before
    assert shelf.words("Katze") == []
    assert len(in_german(shelf, "Katze")) == 8
    assert reworded(shelf) == shelf.ids[names[-1]]


def test_what_is_kept_is_kept(shelf: Shelf) -> None:
    shelf.add({"Katze": "Katze"})
    reword(shelf, "Katze")
    with shelf.locked():
        gone = shelf.store.forget_words(collection_id=shelf.collection.pk, keep={"german"})
    assert (gone, shelf.words("Katze"), in_german(shelf, "Katzen")) == (1, [], ["Katze"])


def test_0008_says_of_old_segments_what_they_are(shelf: Shelf) -> None:
    shelf.add({"a": "alpha"})
    Segment.objects.update(language="")
    assert shelf.words("alpha") == []
    with connection.cursor() as cursor:
        cursor.execute(migration_sql("stores_app", "0008_segment_language"))
    assert [name for name, _ in shelf.words("alpha")] == ["a"]
