"""The page that makes a collection here of one that a connection leads to."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from console_app.failures import EXPECTED, sentence
from console_app.held_there import ThereForm, look_there
from console_app.pages import ServiceAdmin
from console_app.permissions import may, require
from core_app.wiring import embedder
from stores_app.attaching import attach_collection


class AttachPages(ServiceAdmin):
    """Of connections: their collections, attached."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.attach_view)
        return [path("<int:connection_id>/attach/", view, name="connections_connection_attach"), *super().get_urls()]

    def attach_view(self, request: HttpRequest, connection_id: int) -> HttpResponse:
        """The collections there, and a form that attaches one."""
        require(request, "attach_collections")
        row = self.found(request, str(connection_id))
        there = look_there(row)
        form = ThereForm(request.POST if request.method == "POST" else None, there=there)
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
        title = _("Attach a collection of %(name)s") % {"name": row.name}
        return self.page(request, "connection_attach.html", title=title, row=row, form=form, there=there)
