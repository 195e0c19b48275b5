"""Collections written out and read again: the same is found, and hostile files are refused line by line."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from access_app.models import AuditEntry
from collections_app.adding import NewChunk, add_chunks
from collections_app.changing import change_chunk
from collections_app.disabling import set_disabled
from collections_app.exporting import CHUNK_FIELDS, DOCUMENT_FIELDS, TEXT_FIELDS, export_collection
from collections_app.filters import save_filter
from collections_app.models import Chunk, Collection, Document, DocumentText, Generation, NamedFilter
from collections_app.services import change_collection, create_collection
from core_app.errors import Conflict, InvalidInput, NotFound, RagsiteError, TooLarge
from ingest_app import importing
from ingest_app.exchange_target import SEARCH_SHARES, SEARCH_WORDS, Way
from ingest_app.importing import Watch, check_import, import_collection, import_in_batches
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app.modes import FUSIONS, MODE_NAMES
from search_app.services import search
from search_app.tuning import _KEYS

pytestmark = pytest.mark.django_db


@pytest.fixture
def tea(db: None) -> Collection:
    """Documents with parents, one that failed, a chunk edited, one disabled, a filter."""
    made = create_collection(
        name="tea",
        metadata={"a": {"b": 1}},
        language="german",
        chunking={"strategy": "structure", "size": 16, "overlap": 0, "parent_size": 64},
    )
    Collection.objects.filter(pk=made.pk).update(search={"mode": "fast"}, k1=1.5)
    words = " ".join(f"Oolong wächst am Hang {n} der Insel." for n in range(9))
    texts = {name: f"# Part {name}\n\n{words}\n\n## More\n\nGreen {name}." for name in ("b.md", "a.md")}
    sources = [Source(name=name, content=text.encode(), metadata={"of": name}) for name, text in texts.items()]
    job = submit(collection_name="tea", sources=[*sources, Source(name="broken.md", content=b"")])
    run_job(job_id=job.pk, stopping=lambda: False)
    first, second, *_ = Chunk.objects.filter(collection=made).order_by("position")
    change_chunk(collection_name="tea", external_id=first.external_id, metadata={"seen": True})
    set_disabled(collection_name="tea", external_id=second.external_id, disabled=True)
    save_filter(collection_name="tea", name="of-a", where={"of": "a.md"}, description="A")
    return Collection.objects.get(pk=made.pk)


def exported(name: str = "tea", *, vectors: bool = True) -> io.BytesIO:
    return io.BytesIO(b"".join(export_collection(name=name, vectors=vectors)))


def edited(change: Callable[[list[dict[str, Any]]], Any]) -> io.BytesIO:
    """The export with some lines changed."""
    lines = [json.loads(line) for line in exported().getvalue().splitlines()]
    change(lines)
    return io.BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode())


def contents(name: str) -> Any:
    """All that a collection holds, but for keys."""
    rows = Chunk.objects.filter(collection__name=name).order_by("position").select_related("document")
    chunks = [(r.external_id, r.document and r.document.source, *(getattr(r, f) for f in CHUNK_FIELDS)) for r in rows]
    documents = Document.objects.filter(collection__name=name).order_by("source")
    texts = DocumentText.objects.filter(document__collection__name=name).order_by("document__source")
    filters = NamedFilter.objects.filter(collection__name=name).values_list("name", "where", "description")
    return (
        chunks,
        list(documents.values(*DOCUMENT_FIELDS, "chunk_count")),
        list(texts.values(*TEXT_FIELDS)),
        list(filters),
    )


def hits(name: str) -> Any:
    found = search(collection_name=name, query="Oolong Hang 2", top_k=5, asked_by="test", explain=True)
    return [(hit.id, hit.content, round(hit.score, 6), str(hit.explanation)) for hit in found.hits]


def recorded() -> list[int]:
    """How many chunks the audit log has of each import."""
    entries = AuditEntry.objects.filter(action="collection.imported")
    return list(entries.values_list("after__chunks", flat=True))


class TestRoundTrip:
    def test_everything_is_there_again(self, tea: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        file = exported()
        with monkeypatch.context() as patched:
            patched.setattr("inference_app.hashing.HashingEmbedder.embed_documents", pytest.fail)
            report = import_collection(name="copy", stream=file)
        assert (report.is_new, report.way, report.removed, report.refused) == (True, Way.STORED, 0, 0)
        assert (report.documents.new, report.chunks.new) == (3, Chunk.objects.filter(collection=tea).count())
        assert contents("copy") == contents("tea")
        copy = Collection.objects.get(name="copy")
        for name in ("metadata", "language", "chunking", "search", "k1", "b", "distance", "store"):
            assert getattr(copy, name) == getattr(tea, name), name
        assert hits("copy") == hits("tea") != []
        assert Chunk.objects.filter(collection=copy, disabled_at__isnull=False).count() == 1
        again = b"".join(export_collection(name="copy")).splitlines()[1:]
        assert again == exported().getvalue().splitlines()[1:]

    def test_a_second_time_changes_nothing(self, tea: Collection) -> None:
        import_collection(name="copy", stream=exported())
        version = Collection.objects.get(name="copy").version
        for name in ("copy", "tea"):
            report = import_collection(name=name, stream=exported())
            assert not report.changes
            assert report.chunks.unchanged == Chunk.objects.filter(collection=tea).count()
        assert Collection.objects.get(name="copy").version == version
        assert AuditEntry.objects.filter(action="collection.imported").count() == 1

    def test_without_vectors_the_server_embeds(self, tea: Collection) -> None:
        file = exported(vectors=False)
        checked = check_import(name="copy", stream=file)
        assert (checked.way, checked.embedded) == (Way.EMBEDDED, Chunk.objects.filter(collection=tea).count())
        assert not Collection.objects.filter(name="copy").exists()
        import_collection(name="copy", stream=file)
        assert hits("copy") == hits("tea")

    def test_vectors_of_another_model_are_made_anew(self, tea: Collection) -> None:
        def other(lines: list[dict[str, Any]]) -> None:
            lines[0]["embedding"]["model"] = "another"

        assert import_collection(name="copy", stream=edited(other)).way is Way.EMBEDDED
        assert hits("copy") == hits("tea")
        Generation.objects.filter(collection__name="copy").update(embedding_model="third")
        with pytest.raises(Conflict, match="third"):
            check_import(name="copy", stream=exported())

    def test_an_unchanged_source_is_skipped_afterwards(self, tea: Collection) -> None:
        import_collection(name="copy", stream=exported())
        before = dict(Document.objects.filter(collection__name="tea").values_list("source", "content_hash"))
        assert before == dict(Document.objects.filter(collection__name="copy").values_list("source", "content_hash"))

    def test_in_batches(self, tea: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importing, "LINES_AT_A_TIME", 3)
        told = 0

        def stop(_report: Any) -> None:
            nonlocal told
            told += 1
            if told == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            import_in_batches(name="copy", stream=exported(), watch=Watch(stored=stop))
        assert 0 < Chunk.objects.filter(collection__name="copy").count() < Chunk.objects.filter(collection=tea).count()
        assert set(Document.objects.filter(collection__name="copy").values_list("content_hash", flat=True)) == {""}
        assert recorded() == [Chunk.objects.filter(collection__name="copy").count()]
        import_in_batches(name="copy", stream=exported(), watch=Watch())
        assert contents("copy") == contents("tea")
        assert hits("copy") == hits("tea")
        assert sum(recorded()) == Chunk.objects.filter(collection=tea).count()


class TestInto:
    def test_what_differs_is_replaced_and_what_is_missing_removed(self, tea: Collection) -> None:
        import_collection(name="copy", stream=exported())
        before = contents("copy")
        chunks = list(Chunk.objects.filter(collection__name="copy", document__source="a.md").order_by("ordinal"))
        change_chunk(collection_name="copy", external_id=chunks[0].external_id, metadata={"of": None, "x": 1})
        set_disabled(collection_name="copy", external_id=chunks[1].external_id, disabled=True)
        Document.objects.filter(collection__name="copy", source="b.md").update(title="Other")
        Chunk.objects.filter(pk=chunks[2].pk).update(external_id="not in the file")
        of_b = Chunk.objects.filter(collection=tea, document__source="b.md").count()
        report = check_import(name="copy", stream=exported())
        assert (report.documents.replaced, report.chunks.new, report.removed) == (1, 1, 1)
        assert report.chunks.replaced == of_b + 2
        done = import_collection(name="copy", stream=exported())
        assert (done.chunks, done.removed) == (report.chunks, report.removed)
        after = contents("copy")
        assert sorted(after[0]) == sorted(before[0])
        assert after[1:] == before[1:]

    def test_settings_of_an_existing_one_stay(self, tea: Collection) -> None:
        create_collection(name="mine", metadata={"my": 1}, language="english")
        import_collection(name="mine", stream=exported())
        mine = Collection.objects.get(name="mine")
        assert (mine.metadata, mine.language, mine.search) == ({"my": 1}, "english", {})
        assert not NamedFilter.objects.filter(collection=mine).exists()

    @pytest.mark.parametrize("in_batches", [False, True])
    def test_one_that_is_renamed_meanwhile_gets_the_file(
        self, tea: Collection, in_batches: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A name belongs to the request: whoever has it afterwards gets nothing."""
        create_collection(name="copy")

        def rename(_report: Any) -> None:
            monkeypatch.undo()
            change_collection(name="copy", new_name="renamed")
            create_collection(name="copy")

        monkeypatch.setattr(importing, "_refuse", rename)  # between both passes
        if in_batches:
            import_in_batches(name="copy", stream=exported(), watch=Watch())
        else:
            import_collection(name="copy", stream=exported())
        assert contents("renamed")[:3] == contents("tea")[:3]
        assert contents("copy") == ([], [], [], [])

    def test_vectors_of_callers(self, db: None) -> None:
        create_collection(name="own")
        given = [NewChunk(external_id=n, text=n, metadata={}) for n in "abc"]
        add_chunks(collection_name="own", chunks=given, embeddings=lambda: np.eye(3, dtype=np.float32))
        import_collection(name="copy", stream=exported("own"))
        assert contents("copy")[0] == contents("own")[0]
        assert Generation.objects.get(collection__name="copy").embedding_model is None
        with pytest.raises(Conflict):
            import_collection(name="copy", stream=exported("own", vectors=False))

    def test_too_much_for_one_transaction(self, tea: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importing, "MOST_CHUNKS", 3)
        with pytest.raises(TooLarge, match="more than 3 chunks"):
            import_collection(name="copy", stream=exported())
        assert not Collection.objects.filter(name="copy").exists()

    def test_none_is_made_unasked(self, tea: Collection) -> None:
        with pytest.raises(NotFound):
            import_collection(name="typo", stream=exported(), may_create=False)


def _set(kind: str, **values: Any) -> Callable[[list[dict[str, Any]]], None]:
    def change(lines: list[dict[str, Any]]) -> None:
        next(line for line in lines if line["kind"] == kind).update(values)

    return change


DEEP: Any = 1
for _ in range(200):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set("chunk", id=""), "id: use 1 to"),
        (_set("chunk", id=5), "id: Expected str"),
        (_set("chunk", text="a\0b"), "text: remove NUL"),
        (_set("chunk", text="\ud800"), "not valid JSON"),
        (_set("chunk", metadata={"a\0": 1}), "metadata: a key: remove NUL"),
        (_set("chunk", metadata={"a": DEEP}), "nested"),
        (_set("chunk", page=-1), "page: Expected int >= 0"),
        (_set("chunk", page=2**31), "page: Expected int <="),
        (_set("chunk", parent_start=5, parent_end=5), "parent_start, parent_end"),
        (_set("chunk", start_offset=0, end_offset=10**6), "outside of the document's text"),
        (_set("chunk", source="none.md"), "no line above is a document"),
        (_set("chunk", vector="????"), "not base64"),
        (_set("chunk", vector="AAAA"), "numbers of 4 bytes"),
        (_set("chunk", disabled_at="yesterday"), "disabled_at"),
        (_set("chunk", surprise=1), "surprise"),
        (_set("document", source="x" * 2000), "source: use 1 to"),
        (_set("document", state="odd"), "state: must be"),
        (_set("document", size_bytes=2**70), "size_bytes"),
        (_set("document", extracted={"text": "t", "outline": {}, "source_digest": ""}), "extracted.outline"),
        (lambda lines: lines.insert(2, lines[1]), "a line above has it already"),
        (lambda lines: lines.insert(-1, lines[-2]), "a line above has it already"),
        (lambda lines: lines.insert(2, lines[0]), "only the first line"),
        (lambda lines: lines.insert(2, {"kind": "odd"}), "kind"),
        (lambda lines: lines.insert(2, [1]), "Expected"),
    ],
)
def test_lines_that_cannot_be_stored(tea: Collection, change: Any, says: str) -> None:
    file = edited(change)
    report = check_import(name="copy", stream=file)
    assert report.refused >= 1
    assert any(says in one.reason for one in report.refusals), report.refusals
    with pytest.raises(InvalidInput, match="line ") as refused:
        import_collection(name="copy", stream=file)
    assert refused.value.errors
    assert not Collection.objects.filter(name="copy").exists()


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (b"", "Line 1"),
        (b"\xff\xfe", "Line 1"),
        (b"[" * 100_000, "Line 1"),
        (b'{"kind": "end", "documents": 0, "chunks": 0}', "not a collection's"),
        (b'{"kind": "collection", "format": 99}', "format"),
        (b'{"kind": "collection", "format": 1}\n', "cut off"),
        (b'{"kind": "collection", "format": 1}\nx\n', "cut off"),
        (b'{"kind": "collection", "format": 1, "distance": "far"}', "distance"),
        (b'{"kind": "collection", "format": 1, "language": "klingon"}', "language"),
        (b'{"kind": "collection", "format": 1, "chunking": {"size": "x"}}', "chunking.size"),
        (b'{"kind": "collection", "format": 1, "search": {"mode": [1]}}', "search.mode"),
        (b'{"kind": "collection", "format": 1, "search": {"min_score": 7}}', "search.min_score"),
        (b'{"kind": "collection", "format": 1, "search": {"odd": 7}}', "search.odd"),
        (b'{"kind": "collection", "format": 1, "filters": [{"name": "f", "where": {"$odd": 1}}]}', "odd"),
        (b'{"kind": "collection", "format": 1, "filters": [{"name": "f", "where": {}}]}', "empty"),
        (b'{"kind": "collection", "format": 1, "filters": [{"name": "preview", "where": {"a": 1}}]}', "preview"),
        (b'{"kind": "collection", "format": 1}\n' + b"x\n" * 2000, "1,000"),
        (b'{"kind": "collection", "format": 1}\n{"kind": "end", "documents": 0, "chunks": 0}\nx', "follows"),
    ],
)
def test_files_that_are_none(db: None, file: bytes, says: str) -> None:
    whole = file if b"\n" in file or not file else file + b'\n{"kind": "end", "documents": 0, "chunks": 0}\n'
    with pytest.raises(RagsiteError, match=says):
        import_collection(name="copy", stream=io.BytesIO(whole))
    assert not Collection.objects.filter(name="copy").exists()


@pytest.mark.parametrize("lost", [{"kind": "document", "source": "broken.md"}, {"kind": "chunk"}])
def test_a_file_that_lost_a_line_in_the_middle(tea: Collection, lost: dict[str, str]) -> None:
    """The last line says how many there are: the dry run, small imports and large ones compare."""
    file = edited(lambda lines: lines.remove([line for line in lines if lost.items() <= line.items()][-1]))
    report = check_import(name="copy", stream=file)
    assert (report.refused, report.refusals[0].line) == (1, len(file.getvalue().splitlines()))
    with pytest.raises(InvalidInput, match="lines are missing"):
        import_collection(name="copy", stream=file)
    with pytest.raises(InvalidInput, match="lines are missing"):
        import_in_batches(name="copy", stream=file, watch=Watch())
    assert not Collection.objects.filter(name="copy").exists()


@pytest.mark.parametrize("name", [" ", "copy ", "\u3000copy"])
def test_white_space_around_a_new_name(tea: Collection, name: str) -> None:
    for run in (check_import, import_collection):
        with pytest.raises(InvalidInput, match="white space"):
            run(name=name, stream=exported())
    with pytest.raises(InvalidInput, match="white space"):
        create_collection(name=name)
    with pytest.raises(InvalidInput, match="white space"):
        change_collection(name="tea", new_name=name)
    Collection.objects.filter(pk=tea.pk).update(name=name)
    change_collection(name=name, new_name="older")
    assert Collection.objects.get(pk=tea.pk).name == "older"


def test_search_settings_are_those_of_searches() -> None:
    assert set(SEARCH_WORDS) | set(SEARCH_SHARES) == set(_KEYS)
    assert (set(SEARCH_WORDS["mode"]), set(SEARCH_WORDS["fusion"])) == (set(MODE_NAMES), set(FUSIONS))


def test_no_column_is_forgotten() -> None:
    """A column that is new belongs into the file, or its value is lost."""
    own = {"id", "collection", "created_at", "updated_at"}
    fields = {field.name for field in Document._meta.concrete_fields}
    assert fields - own == {*DOCUMENT_FIELDS, "chunk_count", "origin"}
    fields = {field.name for field in Chunk._meta.concrete_fields}
    assert fields - own == {*CHUNK_FIELDS, "external_id", "document", "position"}
    assert {field.name for field in DocumentText._meta.concrete_fields} == {*TEXT_FIELDS, "document"}


def test_on_the_command_line(tea: Collection, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tea.jsonl"
    call_command("export", "tea", output=file)
    assert file.read_bytes() == exported().getvalue()
    call_command("import_collection", str(file), "copy", dry_run=True)
    assert "3 new, 0 replaced" in capsys.readouterr().out
    assert not Collection.objects.filter(name="copy").exists()
    call_command("import_collection", str(file), "copy")
    assert contents("copy") == contents("tea")
    file.write_bytes(edited(_set("chunk", id="")).getvalue())
    with pytest.raises(CommandError, match="line 5: id: use"):
        call_command("import_collection", str(file), "other")
    with pytest.raises(CommandError, match="not found"):
        call_command("export", "nothing")
