"""The lists of chunks and documents: what is asked for in the address, a page of rows, and where the next ones are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from access_app.patterns import is_everything
from access_app.reach import patterns_of
from collections_app.browsing import BrowsedPage
from collections_app.browsing_chunks import ChunksAsked, ListedChunk, Marked, browse_chunks
from collections_app.browsing_documents import DocumentsAsked, Outcome, browse_documents
from collections_app.models import Document
from console_app.failures import EXPECTED, sentence
from console_app.forms import choose
from console_app.listing_forms import ChunkListForm, DocumentListForm
from console_app.listing_words import CHUNKS, CHUNKS_OF_DOCUMENT, DOCUMENTS, Words
from console_app.permissions import ABILITIES, may, require
from console_app.reached import collections_for
from console_app.strict_lists import refuse_unknown
from console_app.templatetags.console import thousands
from core_app.keyset import place_from

PAGE_SIZE = 50

Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class ListPage(Generic[Row]):
    """A page of a list with its form; the rows are missing where the form cannot be used."""

    form: forms.Form
    listed: BrowsedPage[Row]
    words: Words
    #: The address's parameters but for the place.
    query: str
    #: Names of collections by id.
    collections: Mapping[int, str]
    #: Documents of the chunks, by id.
    documents: Mapping[int, Document]

    @property
    def is_narrowed(self) -> bool:
        """Whether anything narrows the list."""
        return not self.form.is_valid() or any(self.form.cleaned_data.values())

    @property
    def chosen(self) -> str:
        """The name of the chosen collection; empty where rows of all are listed."""
        key = self.form.cleaned_data.get("collection__id__exact") if self.form.is_bound else ""
        return self.collections.get(int(key), "") if key else ""

    @property
    def counted(self) -> str:
        """How many rows there are, in words; empty where they were not counted."""
        return self.words.count(self.listed.count) if self.listed.count else ""

    @property
    def looked_at(self) -> str:
        """That only so many rows were looked at, in words; empty where it was searched to the end."""
        number = self.listed.looked_at
        return str(self.words.looked_at) % {"number": thousands(number)} if number else ""


def chunk_list(request: HttpRequest) -> ListPage[ListedChunk]:
    """The page of chunks that the address asks for."""
    reach = _reach(request, "view_chunks")
    form = ChunkListForm(request.GET)
    reach.offer(form)
    refuse_unknown(form, request.GET)

    def read(given: Mapping[str, Any]) -> BrowsedPage[ListedChunk]:
        asked = ChunksAsked(
            collection_ids=reach.chosen(given),
            document_id=given["document__id__exact"],
            marked=Marked(given["marked"]) if given["marked"] else None,
            where=given["where"],
        )
        return browse_chunks(asked=asked, place=place_from(request.GET), size=PAGE_SIZE)

    listed = _read(form, read)
    document = form.cleaned_data.get("document__id__exact")
    keys = {row.document_id for row in listed.rows if row.document_id is not None} | ({document} if document else set())
    words = CHUNKS_OF_DOCUMENT if document else CHUNKS
    return _page(request, form, listed, words, reach, documents=reach.documents(keys))


def document_list(request: HttpRequest) -> ListPage[Document]:
    """The page of documents that the address asks for. A filter asks their chunks, which takes seeing those."""
    asks_chunks = bool(request.GET.get("where", "").strip())
    if asks_chunks:
        require(request, "read_documents")
    reach = _reach(request, "read_documents" if asks_chunks else "view_documents")
    form = DocumentListForm(request.GET)
    if not may(request.user, "read_documents"):
        del form.fields["where"]
    reach.offer(form)
    refuse_unknown(form, request.GET)

    def read(given: Mapping[str, Any]) -> BrowsedPage[Document]:
        asked = DocumentsAsked(
            collection_ids=reach.chosen(given),
            outcome=Outcome(given["outcome"]) if given["outcome"] else None,
            text=given["q"].strip(),
            where=given.get("where"),
        )
        return browse_documents(asked=asked, place=place_from(request.GET), size=PAGE_SIZE)

    return _page(request, form, _read(form, read), DOCUMENTS, reach)


def _page(
    request: HttpRequest,
    form: forms.Form,
    listed: BrowsedPage[Row],
    words: Words,
    reach: _Reach,
    *,
    documents: Mapping[int, Document] | None = None,
) -> ListPage[Row]:
    query = request.GET.copy()
    for name in ("before", "after"):
        query.pop(name, None)
    return ListPage(
        form=form,
        listed=listed,
        words=words,
        query=query.urlencode(),
        collections=reach.names,
        documents=documents or {},
    )


@dataclass(frozen=True, kw_only=True)
class _Reach:
    """The collections whose rows may be listed: the one place that decides."""

    #: By id.
    names: Mapping[int, str]
    is_everything: bool

    def documents(self, keys: Iterable[int]) -> dict[int, Document]:
        """Those of the documents that stand in one of them."""
        found = Document.objects.only("source", "title", "collection_id").in_bulk(keys)
        return {key: document for key, document in found.items() if document.collection_id in self.names}

    def offer(self, form: forms.Form) -> None:
        """Have one of them chosen, or all."""
        chosen = [(str(key), name) for key, name in self.names.items()]
        choose(form, "collection__id__exact", [("", str(_("All collections"))), *chosen])

    def chosen(self, given: Mapping[str, Any]) -> Sequence[int] | None:
        """The chosen collection, or all that are reached; None for all there are, for which no list is needed."""
        if given["collection__id__exact"]:
            return [int(given["collection__id__exact"])]
        return None if self.is_everything else list(self.names)


def _reach(request: HttpRequest, ability: str) -> _Reach:
    return _Reach(
        names=dict(collections_for(request.user, ability).values_list("pk", "name")),
        is_everything=all(is_everything(patterns_of(request.user, needed)) for needed in ABILITIES[ability]),
    )


def _read(form: forms.Form, read: Callable[[Mapping[str, Any]], BrowsedPage[Row]]) -> BrowsedPage[Row]:
    """The page of what the form asks for; one of no rows where that cannot be read, with the reason in the form."""
    if form.is_valid():
        try:
            return read(form.cleaned_data)
        except EXPECTED as error:
            form.add_error(None, sentence(error))
    return BrowsedPage(rows=(), before=None, after=None)
