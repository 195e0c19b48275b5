"""What an older version of the analysis indexed is analysed anew, some of it at a time, while it is searched."""

from __future__ import annotations

import numpy as np
import pytest

from collections_app.context import contextual_text
from collections_app.models import Chunk, Document
from core_app.ports import IndexedChunk
from stores_app import compaction, words
from stores_app.lexical.analysis import VERSION
from stores_app.models import Segment
from tests.integration.stores.shelf import Shelf

pytestmark = pytest.mark.django_db

TEXTS = {"a": "click.Group.command", "b": "group things", "c": "of command", "d": "click.Other.command"}


@pytest.fixture
def old(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """A shelf of which the index was made by the version before: it took a dot for a gap."""
    with monkeypatch.context() as before:
        before.setattr(words, "VERSION", VERSION - 1)
        rows = Chunk.objects.bulk_create(
            Chunk(collection=shelf.collection, external_id=name, text=text) for name, text in TEXTS.items()
        )
        vector = np.array([1.0, 0.0], np.float32)
        shelf.index([IndexedChunk(chunk_id=row.pk, text=row.text.replace(".", " "), embedding=vector) for row in rows])
        shelf.ids = {row.external_id: row.pk for row in rows}
    return shelf


def test_it_is_due_until_all_was_analysed_anew(old: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_CHUNKS_ANEW", 3)
    assert old.store.fragments(collection_id=old.collection.pk) == 1
    assert len(old.words("group")) == 2
    assert old.compact() > 0
    assert sorted(Segment.objects.values_list("analysis", "live")) == [(VERSION - 1, 1), (VERSION, 3)]
    assert len(old.words("group")) == 2, "nothing is lost between"
    while old.compact():
        pass
    assert set(Segment.objects.values_list("analysis", flat=True)) == {VERSION}
    assert old.store.fragments(collection_id=old.collection.pk) == 0
    assert old.words("Group.command")[0][0] == "a"
    named = old.store.lexical(collection_ids=[old.collection.pk], bm25=old.bm25, query="Group.command", limit=5).terms
    assert {term.term: term.rarity for term in named}["group.command"] == 1.0


def test_it_comes_out_as_if_it_were_added_now(old: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_TERMS_ANEW", 1)
    old.remove("b")
    while old.compact():
        pass
    renewed = [old.words(query) for query in ("group", "command", "click.Group.command")]
    with old.locked():
        words.forget(collection_id=old.collection.pk)
    kept = {name: text for name, text in TEXTS.items() if name != "b"}
    texts = {old.ids[name]: text for name, text in kept.items()}
    with old.locked():
        old.store.reword(collection_id=old.collection.pk, language="english", texts=texts)
    assert [old.words(query) for query in ("group", "command", "click.Group.command")] == renewed


def test_a_passage_of_a_document_keeps_what_stands_above_it(old: Shelf) -> None:
    document = Document.objects.create(collection=old.collection, source="s", title="Zebra")
    Chunk.objects.filter(external_id="a").update(document=document, section_path=["Giraffe"])
    while old.compact():
        pass
    assert contextual_text(title="Zebra", section=["Giraffe"], text="").split() == ["#", "Zebra", "##", "Giraffe"]
    assert [name for name, _ in old.words("zebra giraffe")] == ["a"]
