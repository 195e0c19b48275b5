"""The list of jobs: what is asked for in the address, and a page of them that begins at a key, newest first."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget  # type: ignore[import-untyped]

from console_app.forms import choose
from console_app.progress import TONES
from console_app.reached import collections_for
from console_app.strict_lists import refuse_unknown
from core_app.keyset import Listed, Place, page_of
from ingest_app.models import Job

PAGE_SIZE = 50
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_ID_BITS = 128
#: Of a key, which holds a moment and an id; further than the year 9999.
_MOST_DIGITS = 56


class JobListForm(forms.Form):
    """Which jobs are listed."""

    collection__id__exact = forms.ChoiceField(label=_("Collection"), required=False, widget=UnfoldAdminSelectWidget())
    kind__exact = forms.ChoiceField(
        label=_("Kind"),
        required=False,
        choices=[("", _("All kinds")), *Job.Kind.choices],
        widget=UnfoldAdminSelectWidget(),
    )
    state__exact = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[("", _("All states")), *Job.State.choices],
        widget=UnfoldAdminSelectWidget(),
    )


@dataclass(frozen=True, kw_only=True)
class JobList:
    """A page of jobs with its form."""

    form: JobListForm
    listed: Listed[Any]
    #: The address's parameters but for the place.
    query: str
    is_narrowed: bool
    tones: Mapping[str, str]


def job_list(request: HttpRequest, rows: QuerySet[Job]) -> JobList:
    """The page that the address asks for, of these jobs."""
    form = JobListForm(request.GET)
    names = collections_for(request.user, "view_jobs").values_list("pk", "name")
    choose(form, "collection__id__exact", [("", str(_("All collections"))), *((str(key), name) for key, name in names)])
    refuse_unknown(form, request.GET)
    given = {name: value for name, value in form.cleaned_data.items() if value} if form.is_valid() else {}
    found = rows.filter(**given) if form.is_valid() else rows.none()
    kept = request.GET.copy()
    for name in ("before", "after"):
        kept.pop(name, None)
    return JobList(
        form=form,
        listed=_page(found, _place(request)),
        query=kept.urlencode(),
        is_narrowed=bool(given) or not form.is_valid(),
        tones=TONES,
    )


def _page(rows: QuerySet[Job], place: Place) -> Listed[Job]:
    if place.key is not None:
        at, last = _EPOCH + (place.key >> _ID_BITS) * _MICROSECOND, uuid.UUID(int=place.key % (1 << _ID_BITS))
        side = "gt" if place.is_backwards else "lt"
        # The first part is what the index is read by.
        rows = rows.filter(
            Q(**{f"created_at__{side}e": at}) & (Q(**{f"created_at__{side}": at}) | Q(**{f"id__{side}": last}))
        )
    order = ("created_at", "id") if place.is_backwards else ("-created_at", "-id")
    return page_of(list(rows.order_by(*order)[: PAGE_SIZE + 1]), size=PAGE_SIZE, place=place, key=_key)


def _key(job: Job) -> int:
    """One number for the moment and the id, ordered as they are."""
    return ((job.created_at - _EPOCH) // _MICROSECOND << _ID_BITS) + job.pk.int


def _place(request: HttpRequest) -> Place:
    before, after = _number(request.GET.get("before")), _number(request.GET.get("after"))
    return Place(before=before) if before is not None else Place(after=after)


def _number(text: str | None) -> int | None:
    """The key that a text says; None for what is none, or is of no time that there is."""
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
        return None
    number = int(text)
    latest = (datetime.datetime.max.replace(tzinfo=datetime.UTC) - _EPOCH) // _MICROSECOND
    return number if number >> _ID_BITS <= latest else None
