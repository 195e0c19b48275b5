"""The lists of chunks and documents: what is asked for in the address, a page of rows, and where the next ones are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget  # type: ignore[import-untyped]

from access_app.patterns import is_everything
from access_app.reach import patterns_of
from collections_app.browsing import (
    ChunksAsked,
    Counted,
    Listed,
    ListedChunk,
    Marked,
    Place,
    browse_chunks,
)
from collections_app.browsing_documents import DocumentsAsked, Outcome, list_document_rows
from collections_app.models import Document
from console_app.failures import EXPECTED, sentence
from console_app.forms import choose
from console_app.permissions import ABILITIES
from console_app.reached import collections_for
from core_app.errors import InvalidInput
from core_app.where import Where, parse_where_text

PAGE_SIZE = 50
_LARGEST_KEY = 2**63 - 1

Row = TypeVar("Row")


class ChunkListForm(forms.Form):
    """Which chunks are listed."""

    collection__id__exact = forms.ChoiceField(label=_("Collection"), required=False, widget=UnfoldAdminSelectWidget())
    marked = forms.ChoiceField(
        label=_("Changed by hand"),
        required=False,
        choices=[("", _("All chunks")), (Marked.DISABLED, _("Disabled")), (Marked.EDITED, _("Edited"))],
        widget=UnfoldAdminSelectWidget(),
    )
    where = forms.CharField(
        label=_("Filter"),
        max_length=20_000,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": '{"source": "guide.md"}', "spellcheck": "false"}),
    )
    document__id__exact = forms.IntegerField(
        required=False, min_value=1, max_value=_LARGEST_KEY, widget=forms.HiddenInput()
    )

    def clean_where(self) -> Where | None:
        text = self.cleaned_data["where"].strip()
        try:
            return parse_where_text(text) if text else None
        except InvalidInput as error:
            raise forms.ValidationError(error.detail) from None


class DocumentListForm(forms.Form):
    """Which documents are listed."""

    collection__id__exact = forms.ChoiceField(label=_("Collection"), required=False, widget=UnfoldAdminSelectWidget())
    outcome = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[
            ("", _("All documents")),
            (Outcome.READY, _("Ready")),
            (Outcome.STALE, _("Ready, last update failed")),
            (Outcome.FAILED, _("Failed")),
        ],
        widget=UnfoldAdminSelectWidget(),
    )
    q = forms.CharField(
        label=_("Source or title"),
        max_length=500,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": _("A part of it"), "type": "search"}),
    )


@dataclass(frozen=True, kw_only=True)
class ListPage(Generic[Row]):
    """A page of a list with its form; the rows are missing where the form cannot be used."""

    form: forms.Form
    listed: Listed[Row]
    #: The address's parameters but for the place.
    query: str
    #: Whether anything narrows the list.
    is_narrowed: bool
    count: Counted | None = None
    looked_at: int | None = None
    #: Names of collections by id.
    collections: Mapping[int, str]
    #: Documents of the chunks, by id.
    documents: Mapping[int, Document]

    @property
    def chosen(self) -> str:
        """The name of the chosen collection; empty where rows of all are listed."""
        key = self.form.cleaned_data.get("collection__id__exact") if self.form.is_valid() else ""
        return self.collections.get(int(key), "") if key else ""


NOTHING: Listed[Any] = Listed(rows=(), before=None, after=None)


def chunk_list(request: HttpRequest) -> ListPage[ListedChunk]:
    """The page of chunks that the address asks for."""
    reach = _reach(request, "view_chunks")
    form = ChunkListForm(request.GET)
    _offer(form, reach.names)
    page = None
    if form.is_valid():
        asked = ChunksAsked(
            collection_ids=_chosen(form, reach),
            document_id=form.cleaned_data["document__id__exact"],
            marked=Marked(form.cleaned_data["marked"]) if form.cleaned_data["marked"] else None,
            where=form.cleaned_data["where"],
        )
        page = _attempt(form, lambda: browse_chunks(asked=asked, place=place_of(request), size=PAGE_SIZE))
    listed = NOTHING if page is None else page
    keys = {row.document_id for row in listed.rows if row.document_id is not None}
    if form.is_valid() and form.cleaned_data["document__id__exact"]:
        keys.add(form.cleaned_data["document__id__exact"])
    return ListPage(
        form=form,
        listed=listed,
        count=None if page is None else page.count,
        looked_at=None if page is None else page.looked_at,
        query=_query(request),
        is_narrowed=_is_narrowed(form),
        collections=reach.names,
        documents=reach.documents(keys),
    )


def document_list(request: HttpRequest) -> ListPage[Document]:
    """The page of documents that the address asks for."""
    reach = _reach(request, "view_documents")
    form = DocumentListForm(request.GET)
    _offer(form, reach.names)
    listed: Listed[Document] = NOTHING
    looked_at = None
    if form.is_valid():
        outcome = form.cleaned_data["outcome"]
        asked = DocumentsAsked(
            collection_ids=_chosen(form, reach),
            outcome=Outcome(outcome) if outcome else None,
            text=form.cleaned_data["q"].strip(),
        )
        page = _attempt(form, lambda: list_document_rows(asked=asked, place=place_of(request), size=PAGE_SIZE))
        if page is not None:
            listed, looked_at = page, page.looked_at
    return ListPage(
        form=form,
        listed=listed,
        query=_query(request),
        is_narrowed=_is_narrowed(form),
        looked_at=looked_at,
        collections=reach.names,
        documents={},
    )


def place_of(request: HttpRequest) -> Place:
    """Where the address says that the page begins; what is no key begins at the first page."""
    before, after = _key(request.GET.get("before")), _key(request.GET.get("after"))
    return Place(before=before) if before is not None else Place(after=after)


def _key(text: str | None) -> int | None:
    if text is None or not text.isascii() or not text.isdecimal():
        return None
    return min(int(text[:20]), _LARGEST_KEY)


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


def _reach(request: HttpRequest, ability: str) -> _Reach:
    return _Reach(
        names=dict(collections_for(request.user, ability).values_list("pk", "name")),
        is_everything=all(is_everything(patterns_of(request.user, needed)) for needed in ABILITIES[ability]),
    )


def _offer(form: forms.Form, names: Mapping[int, str]) -> None:
    chosen = [(str(key), name) for key, name in names.items()]
    choose(form, "collection__id__exact", [("", str(_("All collections"))), *chosen])


def _chosen(form: forms.Form, reach: _Reach) -> Sequence[int] | None:
    """The chosen collection, or all that are reached; None for all there are, for which no list is needed."""
    chosen = form.cleaned_data["collection__id__exact"]
    if chosen:
        return [int(chosen)]
    return None if reach.is_everything else list(reach.names)


def _is_narrowed(form: forms.Form) -> bool:
    return not form.is_valid() or any(form.cleaned_data.values())


def _query(request: HttpRequest) -> str:
    kept = request.GET.copy()
    for name in ("before", "after"):
        kept.pop(name, None)
    return kept.urlencode()


def _attempt(form: forms.Form, read: Callable[[], Row]) -> Row | None:
    try:
        return read()
    except EXPECTED as error:
        form.add_error(None, sentence(error))
        return None
