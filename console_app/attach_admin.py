"""The page that makes a collection here of one that a connection leads to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from connections_app.models import Connection
from connections_app.opening import opened_store
from console_app.failures import EXPECTED, sentence
from console_app.forms import choose
from console_app.pages import ServiceAdmin
from console_app.permissions import may, require
from core_app.names import visible
from core_app.wiring import embedder
from stores_app.attaching import attach_collection

#: Of the collections there.
MOST_LISTED = 200


class AttachForm(forms.Form):
    """Which collection there, and what it is called here."""

    name_there = forms.ChoiceField(label=gettext_lazy("Collection there"), widget=UnfoldAdminSelectWidget())
    name = forms.CharField(
        label=gettext_lazy("Its name here"),
        max_length=512,
        strip=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    same_model = forms.BooleanField(
        required=False,
        label=gettext_lazy("The server's model made its vectors"),
        widget=UnfoldBooleanSwitchWidget(),
        help_text=gettext_lazy("Only then does a text find something. Otherwise it is found by vectors alone."),
    )

    def __init__(self, *args: Any, names: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "name_there", [(name, visible(name)) for name in names])


class AttachPages(ServiceAdmin):
    """Of connections: their collections, attached."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.attach_view)
        return [path("<int:connection_id>/attach/", view, name="connections_connection_attach"), *super().get_urls()]

    def attach_view(self, request: HttpRequest, connection_id: int) -> HttpResponse:
        """The collections there, and a form that attaches one."""
        require(request, "attach_collections")
        row = self.found(request, str(connection_id))
        names, total, problem = _names_there(row)
        form = AttachForm(request.POST if request.method == "POST" else None, names=names)
        if request.method == "POST" and form.is_valid():
            asked = form.cleaned_data
            if not may(request.user, "create_collections", asked["name"]):
                form.add_error("name", _("Your account does not reach a collection of this name. Choose another."))
            else:
                try:
                    model = embedder().model if asked["same_model"] else None
                    made = attach_collection(
                        service=row.name, name_there=asked["name_there"], name=asked["name"], embedding_model=model
                    )
                except EXPECTED as error:
                    form.add_error(None, sentence(error))
                else:
                    messages.success(request, _("The collection is attached. It is searched there."))
                    return redirect("admin:collections_collection_change", made.pk)
        found = {"form": form, "names": names, "total": total, "problem": problem}
        title = _("Attach a collection of %(name)s") % {"name": row.name}
        return self.page(request, "connection_attach.html", title=title, row=row, **found)


def _names_there(row: Connection) -> tuple[list[str], int, str]:
    """Names of the first collections there, how many there are, and why that is not known."""
    try:
        with opened_store(row) as provider:
            found = provider.list_collections(limit=MOST_LISTED, offset=0)
    except EXPECTED as error:
        return [], 0, sentence(error)
    return [one.name for one in found.collections], found.total, ""
