"""A chunk edited, disabled and enabled in the console; a document read with its borders and ingested again."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from collections_app import borders
from collections_app.changing import change_chunk
from collections_app.disabling import set_disabled
from collections_app.models import Chunk, Document, DocumentText
from collections_app.services import create_collection
from ingest_app.models import Connector, Job
from search_app.services import search
from tests.integration.console.conftest import Login, Rows
from tests.integration.ingest.filling import fill, ingest, work_off

pytestmark = pytest.mark.django_db

OLD = "Ducks <b>eat</b> small fish."
VIEW = ("collections.view_document", "collections.view_chunk")


@pytest.fixture
def duck() -> Chunk:
    create_collection(name="pond")
    ingest("pond", OLD)
    return Chunk.objects.get()


def edit_address(chunk: Chunk) -> str:
    return f"/admin/collections/chunk/{chunk.pk}/edit/"


def seen_on(client: Client, chunk: Chunk) -> str:
    page = client.get(edit_address(chunk)).content.decode()
    found = re.search(r'name="seen" value="(\w+)"', page)
    assert found
    return found[1]


def found(query: str) -> list[str]:
    return [hit.content for hit in search(collection_name="pond", query=query, legs="lexical").hits]


def test_a_chunk_is_edited_after_a_look_at_what_would_change(root: Client, duck: Chunk) -> None:
    form = root.get(edit_address(duck)).content.decode()
    assert html.escape(OLD) in form
    assert "<code>chunk_index</code>: 0" in form, "what cannot be edited is shown beside it"
    assert "&quot;chunk_index&quot;" not in form
    given = {"text": OLD.replace("Ducks", "Herons"), "metadata": '{"team": "<i>a</i>"}', "seen": seen_on(root, duck)}

    look = root.post(edit_address(duck), {**given, "look": ""}).content.decode()
    assert "<del>Ducks </del><ins>Herons </ins>" in look
    assert "&lt;b&gt;eat&lt;/b&gt;" in look
    assert '<code dir="auto">&quot;&lt;i&gt;a&lt;/i&gt;&quot;</code>' in look
    assert "not there" in look
    assert (Chunk.objects.get().text, found("herons")) == (OLD, [])

    answer = root.post(edit_address(duck), {**given, "save": ""})
    after = Chunk.objects.get()
    assert answer["Location"] == f"/admin/collections/chunk/{after.pk}/change/"
    assert (after.text, after.metadata["team"], after.metadata["source"]) == (given["text"], "<i>a</i>", "s0")
    assert (found("herons"), found("ducks")) == ([given["text"]], [])
    page = root.get(answer["Location"]).content.decode()
    assert "Edited on" in page
    assert "What the source says" in page


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"text": "  "}, "Write a text"),
        ({"metadata": "{"}, "JSON"),
        ({"metadata": "[1]"}, "JSON object"),
        ({"metadata": '{"source": "x"}'}, "set by ingestion"),
        ({"seen": "older"}, "changed meanwhile"),
        ({"text": "x" * 100_001}, "100000"),
    ],
)
def test_what_cannot_be_saved_is_said_and_nothing_is(
    root: Client, duck: Chunk, changed: dict[str, str], said: str
) -> None:
    given = {"text": "Herons.", "metadata": "{}", "seen": seen_on(root, duck), "save": "", **changed}
    page = html.unescape(root.post(edit_address(duck), given).content.decode())
    assert said in page
    assert (Chunk.objects.get().pk, Chunk.objects.get().text) == (duck.pk, OLD)


def test_who_was_quicker_is_not_overwritten(root: Client, duck: Chunk) -> None:
    mark = seen_on(root, duck)
    change_chunk(collection_name="pond", external_id=duck.external_id, metadata={"by": "another"})
    answer = root.post(edit_address(duck), {"text": "Herons.", "metadata": "{}", "seen": mark, "save": ""})
    assert "changed meanwhile" in answer.content.decode()
    assert Chunk.objects.get().metadata["by"] == "another"


def test_the_text_of_callers_vectors_is_not_offered(root: Client) -> None:
    create_collection(name="mine")
    fill("mine", 1)
    chunk = Chunk.objects.get()
    page = root.get(edit_address(chunk)).content.decode()
    assert "made by its callers" in page
    assert 'name="text"' not in page
    given = {"text": "forged", "metadata": '{"n": 7}', "seen": seen_on(root, chunk), "save": ""}
    assert root.post(edit_address(chunk), given).status_code == 302
    after = Chunk.objects.get()
    assert (after.text, after.metadata) == ("Passage 0.", {"n": 7})


def test_a_chunk_is_disabled_and_enabled(root: Client, duck: Chunk) -> None:
    address = f"/admin/collections/chunk/{duck.pk}/disable/"
    assert root.get(address).status_code == 405
    answer = root.post(address)
    page = root.get(answer["Location"]).content.decode()
    assert "no search finds it" in page
    assert "Enable" in page
    assert found("ducks") == []
    assert "rs-chunk--disabled" in root.get(f"/admin/collections/document/{duck.document_id}/change/").content.decode()
    answer = root.post(address, {"enable": ""})
    assert answer["Location"] == f"/admin/collections/chunk/{Chunk.objects.get().pk}/change/"
    assert found("ducks") == [OLD]


def test_who_may_only_look_is_offered_no_change(login: Login, duck: Chunk) -> None:
    viewer = login(*VIEW)
    page = viewer.get(f"/admin/collections/chunk/{duck.pk}/change/").content.decode()
    assert "/edit/" not in page
    assert "/disable/" not in page
    document = viewer.get(f"/admin/collections/document/{duck.document_id}/change/").content.decode()
    assert "/again/" not in document
    assert "/read/" in document


SENTENCES = tuple(f"Here is sentence {n} about <{word}> and nothing else." for n, word in enumerate(("a1", "b2", "c3")))


class TestReading:
    @pytest.fixture
    def document(self) -> Document:
        create_collection(name="pond", chunking={"size": 16, "overlap": 0, "parent_size": 200})
        ingest("pond", "\n\n".join(SENTENCES))
        return Document.objects.get()

    def read(self, client: Client, document: Document, **query: Any) -> str:
        answer = client.get(f"/admin/collections/document/{document.pk}/read/", query)
        assert answer.status_code == 200
        return answer.content.decode()

    def test_borders_stand_where_chunks_begin(self, root: Client, document: Document) -> None:
        page = self.read(root, document)
        pieces = re.findall(r'<span class="rs-piece( [^"]*)?">(.*?)</span>', page.partition("rs-reading")[2], re.DOTALL)
        assert html.unescape("".join(text for _, text in pieces)) == DocumentText.objects.get().text
        for chunk in Chunk.objects.all():
            link = f'href="/admin/collections/chunk/{chunk.pk}/change/" aria-label="Chunk {(chunk.ordinal or 0) + 1}"'
            _, _, after = page.partition(link)
            assert after, chunk
            assert html.escape(SENTENCES[chunk.ordinal or 0]) in after[:200]
        assert "rs-parent-mark" in page

    def test_what_is_disabled_edited_or_shared_is_marked(self, root: Client, document: Document) -> None:
        first, second, third = Chunk.objects.order_by("ordinal")
        set_disabled(collection_name="pond", external_id=second.external_id, disabled=True)
        change = {"text": "Edited.", "metadata": "{}", "seen": seen_on(root, third), "save": ""}
        assert root.post(edit_address(third), change).status_code == 302
        Chunk.objects.filter(pk=first.pk).update(end_offset=(first.end_offset or 0) + 10)
        page = self.read(root, document).partition("</ul>")[2]
        assert 'aria-label="Chunk 2, disabled"' in page
        assert "rs-piece--disabled" in page
        assert "rs-piece--shared" in page
        assert "rs-piece--none" in page, "what only the edited chunk had"
        assert "Edited, so no longer this text" in page

    def test_a_long_text_is_read_in_stretches(
        self, root: Client, document: Document, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(borders, "STRETCH", 40)
        whole = DocumentText.objects.get().text
        read = ""
        query: dict[str, str] = {}
        for _ in range(10):
            page = self.read(root, document, **query)
            pieces = re.findall(r'<span class="rs-piece[^>]*>(.*?)</span>', page.partition("rs-reading")[2], re.DOTALL)
            read += html.unescape("".join(pieces))
            later = re.search(r'rel="next" href="\?at=(\d+)"', page)
            if later is None:
                break
            query = {"at": later[1]}
        assert read == whole
        assert 'rel="prev"' in page
        self.read(root, document, at="999999999")

    def test_pages_are_named_where_they_begin(self, root: Client, document: Document) -> None:
        Chunk.objects.filter(ordinal=1).update(page=2)
        assert '<span class="rs-page-mark">page 2</span>' in self.read(root, document)

    def test_without_a_kept_text_it_says_so(self, root: Client, document: Document) -> None:
        DocumentText.objects.all().delete()
        assert "Its text was not kept" in self.read(root, document)


def test_a_document_is_ingested_again(root: Client, duck: Chunk) -> None:
    change = {"text": "Edited.", "metadata": "{}", "seen": seen_on(root, duck), "save": ""}
    root.post(edit_address(duck), change)
    address = f"/admin/collections/document/{duck.document_id}/again/"
    assert root.get(address).status_code == 405
    answer = root.post(address, {"recut": ""})
    job = Job.objects.get(kind=Job.Kind.RECHUNK)
    assert answer["Location"] == f"/admin/ingest/job/{job.pk}/change/"
    work_off(job)
    assert Chunk.objects.get().text == OLD
    refused = root.post(address, {"reread": ""}, follow=True).content.decode()
    assert "No connector of this collection brought it" in refused


def test_reading_its_source_again_takes_running_connectors(login: Login, duck: Chunk) -> None:
    document = Document.objects.get(chunks=duck)
    collection = document.collection
    made = Connector.objects.create(collection=collection, kind="urls", urls=["https://example.org/"], origin="urls:1")
    Document.objects.filter(pk=document.pk).update(origin=made.origin)
    address = f"/admin/collections/document/{document.pk}/"
    uploader = login(*VIEW, "collections.view_collection", "ingest.add_job")
    page = uploader.get(f"{address}change/").content.decode()
    assert "Cut and embed anew" in page
    assert "Read its source again" not in page
    assert uploader.post(f"{address}again/", {"reread": ""}).status_code == 403
    assert not Job.objects.filter(kind="sync").exists()
    runner = login(*VIEW, "collections.view_collection", "ingest.add_job", "ingest.view_connector")
    assert "Read its source again" in runner.get(f"{address}change/").content.decode()
    assert runner.post(f"{address}again/", {"reread": ""}).status_code == 302
    assert Job.objects.filter(kind="sync", connector=made).count() == 1


def test_the_pages_take_few_queries(root: Client, duck: Chunk, rows: Rows) -> None:
    document, chunk = duck.document_id, duck.pk
    for path in (
        "chunk/",
        'chunk/?where={"source":"s0"}',
        f"chunk/{chunk}/change/",
        f"chunk/{chunk}/edit/",
        "document/",
        f"document/{document}/change/",
        f"document/{document}/read/",
    ):
        with CaptureQueriesContext(connection) as captured:
            assert root.get(f"/admin/collections/{path}").status_code == 200
        assert len(captured) < 20, (path, len(captured))


class TestTwoEditors:
    """A new text gives a chunk a new key: whoever had the page open meets the chunk all the same."""

    @pytest.fixture
    def late(self, root: Client, duck: Chunk) -> dict[str, str]:
        """What the second editor sends after the first has saved."""
        given = {"text": "Herons.", "metadata": "{}", "seen": seen_on(root, duck), "save": ""}
        page = root.get(edit_address(duck)).content.decode()
        hidden = dict(re.findall(r'name="(collection|external_id)" value="([^"]*)"', page))
        assert hidden == {"collection": str(duck.collection_id), "external_id": duck.external_id}
        assert root.post(edit_address(duck), {**given, "text": "Swans.", **hidden}).status_code == 302
        return {**given, **hidden}

    @pytest.mark.parametrize("button", ["save", "look"])
    def test_the_second_is_told_and_loses_nothing(
        self, root: Client, duck: Chunk, late: dict[str, str], button: str
    ) -> None:
        del late["save"]
        answer = root.post(edit_address(duck), {**late, button: ""})
        page = answer.content.decode()
        assert answer.status_code == 200
        assert "changed meanwhile" in page
        assert "Herons.</textarea>" in page, "what was typed"
        assert "Swans.</div>" in page.partition('id="stored"')[2], "what is stored"
        assert "<del>Swans.</del>" in page
        assert Chunk.objects.get().text == "Swans."
        mark = re.search(r'name="seen" value="(\w+)"', page)
        assert mark
        saved = root.post(edit_address(duck), {**late, "seen": mark[1], "save": ""})
        assert (saved.status_code, Chunk.objects.get().text) == (302, "Herons.")

    def test_who_does_not_reach_the_collection_does_not_reach_it_by_its_id(
        self, login: Login, duck: Chunk, late: dict[str, str]
    ) -> None:
        assert login(*VIEW).post(edit_address(duck), late).status_code == 403
        elsewhere = login(*VIEW, "collections.change_chunk", collections=["other*"])
        assert elsewhere.post(edit_address(duck), late).status_code == 404
        assert Chunk.objects.get().text == "Swans."

    def test_the_address_before_the_edit_says_where_to_look(self, root: Client, duck: Chunk, late: Any) -> None:
        answer = root.get(f"/admin/collections/chunk/{duck.pk}/change/")
        assert answer.status_code == 404
        assert "has another address now" in answer.content.decode()
        assert "has another address" not in root.get("/admin/nowhere/").content.decode()

    @pytest.mark.parametrize("sent", [{"external_id": "\x00"}, {"external_id": "gone"}, {"collection": "x"}])
    def test_a_chunk_that_is_gone_is_not_found(
        self, root: Client, duck: Chunk, late: dict[str, str], sent: dict[str, str]
    ) -> None:
        assert root.post(edit_address(duck), {**late, **sent}).status_code == 404

    def test_an_old_page_disables_what_the_chunk_is_now(self, root: Client, duck: Chunk, late: dict[str, str]) -> None:
        answer = root.post(f"/admin/collections/chunk/{duck.pk}/disable/", late)
        assert answer.status_code == 302
        assert Chunk.objects.get().disabled_at is not None
