"""The page of where a collection is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget  # type: ignore[import-untyped]

from collections_app.models import Collection
from connections_app.models import Connection
from console_app.failures import EXPECTED, sentence
from console_app.forms import choose
from console_app.pages import ServiceAdmin
from console_app.permissions import may, require
from core_app.errors import RagsiteError
from ingest_app.move_jobs import HERE, moving_job, start_move
from stores_app.placements import check_fitting
from stores_app.whereabouts import whereabouts


@dataclass(frozen=True, kw_only=True)
class Unfit:
    """A connection where nothing can be searched, and why."""

    name: str
    reason: str


class PlacementForm(forms.Form):
    """Where it is to be searched."""

    service = forms.ChoiceField(
        label=gettext_lazy("Search it at"),
        widget=UnfoldAdminSelectWidget(),
        help_text=gettext_lazy(
            "Texts, metadata and vectors of the collection are sent there; all of it stays here, too."
        ),
    )
    name_there = forms.CharField(
        label=gettext_lazy("Its name there"),
        required=False,
        max_length=512,
        widget=UnfoldAdminTextInputWidget(),
        help_text=gettext_lazy("Empty: its name here."),
    )

    def __init__(self, *args: Any, names: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "service", [(HERE, _("This server")), *((name, name) for name in names)])


class PlacementPages(ServiceAdmin):
    """Of collections: where they are searched."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.placement_view)
        own = path("<int:collection_id>/placement/", view, name="collections_collection_placement")
        return [own, *super().get_urls()]

    def placement_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """Where it is searched, and what was not sent there yet; moved."""
        require(request, "view_collections")
        row = self.found(request, str(collection_id))
        is_sent = request.method == "POST"
        if is_sent:
            require(request, "move_collections")
        found = whereabouts(name=row.name)
        fit, unfit = _connections() if may(request.user, "move_collections", row) else ([], [])
        form = PlacementForm(request.POST if is_sent else None, names=fit, initial={"service": found.searched.service})
        if is_sent and form.is_valid():
            there = form.cleaned_data["name_there"] or row.name
            if not may(request.user, "move_collections", there):
                form.add_error(
                    "name_there", _("Your account does not reach a collection of this name. Choose another.")
                )
            else:
                try:
                    job = start_move(name=row.name, service=form.cleaned_data["service"], name_there=there)
                except EXPECTED as error:
                    form.add_error("service", sentence(error))
                else:
                    return self._after_moving(request, row, job.pk)
        return self.page(
            request,
            "placement.html",
            title=_("Where %(name)s is searched") % {"name": row.name},
            row=row,
            form=form,
            found=found,
            unfit=unfit,
            job=moving_job(name=row.name),
        )

    def _after_moving(self, request: HttpRequest, row: Collection, job_id: Any) -> HttpResponse:
        if may(request.user, "view_jobs", row):
            return redirect("admin:ingest_job_change", job_id)
        messages.success(request, _("The collection is being moved."))
        return redirect(request.path)


def _connections() -> tuple[list[str], list[Unfit]]:
    """The names of those where collections can be searched, and the others."""
    fit: list[str] = []
    unfit: list[Unfit] = []
    for connection in Connection.objects.order_by("name"):
        try:
            check_fitting(connection)
        except RagsiteError as error:
            unfit.append(Unfit(name=connection.name, reason=sentence(error)))
        else:
            fit.append(connection.name)
    return fit, unfit
