"""A passage changed by somebody who looked at it: embedded, indexed and stored together, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from collections_app import editing
from collections_app.adding import NewChunk, add_chunks
from collections_app.changing import change_chunk
from collections_app.disabling import set_disabled
from collections_app.editing import edit_chunk, own_metadata, plan_edit, seen, why_no_text
from collections_app.models import Chunk, Collection, Document
from collections_app.removing import delete_chunks
from collections_app.services import create_collection
from core_app.errors import Conflict, InvalidInput, ModelFailed, RagsiteError
from core_app.wiring import embedder
from inference_app.hashing import HashingEmbedder
from search_app.asking import Expansion
from search_app.services import search
from stores_app.models import Vector
from tests.integration.ingest.filling import ingest

pytestmark = pytest.mark.django_db

OLD, NEW = "Ducks eat small fish.", "Herons eat large frogs."


@pytest.fixture
def pond() -> Collection:
    made = create_collection(name="pond")
    ingest("pond", OLD, "Geese eat grass.")
    return made


def chunk(source: str = "s0") -> Chunk:
    return Chunk.objects.select_related("document").get(document__source=source)


def edit(text: str | None = NEW, metadata: dict[str, Any] | None = None, *, as_seen: str | None = None) -> Chunk:
    before = chunk()
    return edit_chunk(
        collection_name="pond",
        external_id=before.external_id,
        as_seen=seen(before) if as_seen is None else as_seen,
        text=text,
        metadata=own_metadata(before) if metadata is None else metadata,
    )


def words(query: str) -> list[str]:
    return [hit.content for hit in search(collection_name="pond", query=query, legs="lexical").hits]


def nearest(query: str) -> str:
    return search(collection_name="pond", query=query, legs="dense", top_k=1).hits[0].content


def state() -> tuple[Any, ...]:
    row = chunk()
    vectors = [(vector.chunk_id, list(vector.embedding)) for vector in Vector.objects.order_by("chunk_id")]
    return row.pk, row.text, row.metadata, row.edited_at, vectors, words("ducks"), words("herons")


def test_the_new_text_is_found_and_the_old_one_not(pond: Collection) -> None:
    before = chunk()
    after = edit()
    assert (words("herons"), words("ducks"), nearest(NEW)) == ([NEW], [], NEW)
    expected = embedder().embed_documents([f"# {chunk().document.title}\n\n{NEW}"])[0]  # type: ignore[union-attr]
    stored = Vector.objects.get(chunk_id=after.pk).embedding
    assert np.allclose(stored, expected, atol=1e-6), "embedded as ingestion would, with what stands above it"
    assert (after.external_id, after.position, after.ordinal) == (before.external_id, before.position, before.ordinal)
    assert (after.original_text, after.edited_at is not None) == (OLD, True)
    assert Vector.objects.count() == 2
    pond.refresh_from_db()
    version = pond.version
    edit("Storks eat eels.")
    assert chunk().original_text == OLD, "what the source says, not what an earlier edit did"
    pond.refresh_from_db()
    assert pond.version == version + 1


def test_metadata_is_replaced_but_for_where_it_comes_from(pond: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    key, fixed = chunk().pk, {key: chunk().metadata[key] for key in ("source", "page_number", "chunk_index", "section")}
    edit(OLD, {"team": "a", "old": None})
    assert chunk().metadata == {**fixed, "team": "a", "old": None}
    monkeypatch.setattr(HashingEmbedder, "embed_documents", lambda *_: pytest.fail("nothing is to be embedded"))
    edit(None, {"team": "b", "source": "s0"})
    assert chunk().metadata == {**fixed, "team": "b"}
    assert chunk().pk == key
    assert chunk().original_text is None
    with pytest.raises(InvalidInput, match="source"):
        edit(None, {"source": "elsewhere"})


def test_what_would_change_is_said_before(pond: Collection) -> None:
    edit(None, {"a": 1, "b": [1], "gone": "x"})
    row = chunk()
    plan = plan_edit(chunk=row, text=OLD, metadata={"a": True, "b": [1], "new": None})
    assert plan.text is None
    changes = [(change.key, change.before, change.after, change.is_new, change.is_gone) for change in plan.fields]
    assert changes == [
        ("a", 1, True, False, False),
        ("gone", "x", None, False, True),
        ("new", None, None, True, False),
    ]
    assert plan_edit(chunk=row, text=OLD, metadata=own_metadata(row)).is_nothing
    before = row.edited_at
    edit(OLD)
    assert chunk().edited_at == before, "nothing was changed"
    for text in (" \n", "x" * (editing.MOST_CHARACTERS + 1)):
        with pytest.raises(InvalidInput):
            plan_edit(chunk=row, text=text, metadata={})


def test_line_ends_of_a_browser_are_no_change(pond: Collection) -> None:
    change_chunk(
        collection_name="pond",
        external_id=chunk().external_id,
        text="one\ntwo",
        embedding=np.ones(embedder().dimension, np.float32),
    )
    assert plan_edit(chunk=chunk(), text="one\r\ntwo", metadata=own_metadata(chunk())).is_nothing


@pytest.mark.parametrize("part", ["dense.add", "words.add", "dense.remove"])
def test_a_store_that_fails_changes_nothing(pond: Collection, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("the disk is full")

    before = state()
    with monkeypatch.context() as patch:
        patch.setattr(f"stores_app.pgvector.{part}", fails)
        with pytest.raises(RuntimeError):
            edit()
    assert state() == before


def test_a_model_that_fails_changes_nothing(pond: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("out of memory")

    before = state()
    with monkeypatch.context() as patch:
        patch.setattr(HashingEmbedder, "embed_documents", fails)
        with pytest.raises(ModelFailed, match="nothing was saved"):
            edit()
    assert state() == before


def other_edit() -> None:
    change_chunk(collection_name="pond", external_id=chunk().external_id, metadata={"by": "another"})


def other_version() -> None:
    ingest("pond", "Swans eat weed.")


def deletion() -> None:
    delete_chunks(collection_name="pond", ids=[chunk().external_id])


@pytest.mark.parametrize("meanwhile", [other_edit, other_version, deletion])
def test_whoever_was_quicker_is_not_overwritten(
    pond: Collection, monkeypatch: pytest.MonkeyPatch, meanwhile: Any
) -> None:
    """While the model works the collection is not locked, and somebody else changes the passage."""
    original = HashingEmbedder.embed_documents
    calls = iter(range(100))

    def embed_documents(self: HashingEmbedder, texts: Any) -> Any:
        if next(calls) == 0:
            monkeypatch.setattr(HashingEmbedder, "embed_documents", original)
            meanwhile()
        return original(self, texts)

    monkeypatch.setattr(HashingEmbedder, "embed_documents", embed_documents)
    with pytest.raises(Conflict, match="changed meanwhile"):
        edit()
    assert words("herons") == []


def test_a_form_that_was_open_too_long_is_refused(pond: Collection) -> None:
    mark = seen(chunk())
    edit(None, {"a": 1})
    with pytest.raises(Conflict, match="changed meanwhile"):
        edit(as_seen=mark)
    assert chunk().text == OLD


def test_one_that_is_disabled_stays_so_and_comes_back_as_it_was_edited(pond: Collection) -> None:
    set_disabled(collection_name="pond", external_id=chunk().external_id, disabled=True)
    edit()
    assert (words("herons"), words("ducks"), Vector.objects.count()) == ([], [], 1)
    set_disabled(collection_name="pond", external_id=chunk().external_id, disabled=False)
    assert (words("herons"), nearest(NEW)) == ([NEW], NEW)


def test_vectors_of_callers_leave_metadata_alone_to_edit() -> None:
    made = create_collection(name="mine")
    given = [NewChunk(external_id="d0", text=OLD, metadata={"source": "free"})]
    add_chunks(collection_name="mine", chunks=given, embeddings=lambda: np.ones((1, 3), np.float32))
    made.refresh_from_db()
    assert "through the API" in why_no_text(made)
    row = Chunk.objects.get()
    with pytest.raises(RagsiteError, match="callers"):
        edit_chunk(collection_name="mine", external_id="d0", as_seen=seen(row), text=NEW, metadata={})
    edit_chunk(collection_name="mine", external_id="d0", as_seen=seen(row), text=OLD, metadata={"source": "mine"})
    assert Chunk.objects.get().metadata == {"source": "mine"}, "no field of it is ingestion's"


def test_vectors_of_another_model_too(pond: Collection) -> None:
    generation = Collection.objects.select_related("active_generation").get().active_generation
    assert generation is not None
    generation.embedding_model = "another"
    generation.save()
    with pytest.raises(Conflict, match="another"):
        edit()


class TestIngestingAgain:
    def test_an_unchanged_source_keeps_the_edit_and_a_changed_one_replaces_it(self, pond: Collection) -> None:
        edit()
        ingest("pond", OLD)
        assert chunk().text == NEW
        ingest("pond", f"{OLD} And weed.")
        assert (chunk().text, chunk().edited_at, chunk().original_text) == (f"{OLD} And weed.", None, None)

    def test_one_that_was_edited_and_disabled_does_not_come_back_as_the_source_has_it(self) -> None:
        create_collection(name="pond", chunking={"size": 16, "overlap": 0})
        parts = [f"Here is sentence {n} about ducks and nothing else at all." for n in range(2)]
        ingest("pond", "\n\n".join(parts))
        first = Chunk.objects.select_related("document").get(ordinal=0)
        edit_chunk(collection_name="pond", external_id=first.external_id, as_seen=seen(first), text=NEW, metadata={})
        set_disabled(collection_name="pond", external_id=first.external_id, disabled=True)
        ingest("pond", "\n\n".join([*parts, "A last sentence of another kind, to be sure of it."]))
        assert Chunk.objects.get(disabled_at__isnull=False).text == parts[0]


def test_what_it_said_before_is_not_shown_around_its_neighbours() -> None:
    create_collection(name="pond", chunking={"size": 16, "overlap": 0})
    parts = [f"Here is sentence {n} about {word} and nothing else." for n, word in enumerate(("a1", "b2", "c3"))]
    ingest("pond", "\n\n".join(parts))
    row = Chunk.objects.select_related("document").get(ordinal=1)
    edit_chunk(collection_name="pond", external_id=row.external_id, as_seen=seen(row), text=NEW, metadata={})
    for asked in ("document", "section", "window:2"):
        expand = Expansion.parse(asked)
        (hit,) = search(collection_name="pond", query="a1", legs="lexical", top_k=1, expand=expand).hits
        assert hit.content == parts[0], asked
    assert Document.objects.get().content_hash
