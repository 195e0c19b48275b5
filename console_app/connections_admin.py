"""Connections: made, looked at, tested, changed, removed. They are about the whole server."""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from access_app.patterns import is_everything
from connections_app.health import try_out
from connections_app.models import Connection
from connections_app.registry import listed, translated
from connections_app.services import change_connection, create_connection, delete_connection
from console_app.attach_admin import AttachPages
from console_app.connection_forms import KINDS, ConnectionForm, ProviderForm
from console_app.failures import EXPECTED, sentence
from console_app.fetch_admin import FetchPages
from console_app.pages import Action
from console_app.permissions import may, require
from console_app.seen import FIELD, mark, while_as_seen
from core_app.errors import InvalidInput
from core_app.names import visible
from stores_app.whereabouts import searched_at


@admin.register(Connection)
class ConnectionAdmin(AttachPages, FetchPages):
    list_display = ("name", "brings", "of_provider", "changed")
    list_display_links = ("name",)
    search_fields = ("name",)
    search_help_text = gettext_lazy("Search by name")
    ordering = ("name",)
    belongs_to = ""
    empty_title = gettext_noop("No connections yet")
    empty_text = gettext_noop(
        "A connection leads to a vector system elsewhere, such as another Ragsite, or to a model that embeds texts or "
        "answers questions."
    )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.test_view)
        return [path("<int:connection_id>/test/", view, name="connections_connection_test"), *super().get_urls()]

    def within_reach(self, rows: QuerySet[Connection], patterns: frozenset[str]) -> QuerySet[Connection]:
        """All for whoever reaches everything, none for others."""
        return rows if is_everything(patterns) else rows.none()

    def list_actions(self, request: HttpRequest) -> list[Action]:
        if not may(request.user, "create_connections", Connection()):
            return []
        url = reverse("admin:connections_connection_add")
        return [Action(label=_("New connection"), url=url, icon="add", primary=True)]

    @admin.display(description=gettext_lazy("Brings"))
    def brings(self, row: Connection) -> str:
        one = listed().get(row.provider)
        return "" if one is None or one.kind is None else str(KINDS[one.kind])

    @admin.display(description=gettext_lazy("Provider"), ordering="provider")
    def of_provider(self, row: Connection) -> str:
        one = listed().get(row.provider)
        return row.provider if one is None else translated(one.label)

    @admin.display(description=gettext_lazy("Changed (UTC)"), ordering="updated_at")
    def changed(self, row: Connection) -> datetime.datetime:
        return row.updated_at

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """First the provider, then what it is configured with."""
        require(request, "create_connections", Connection())
        title = _("New connection")
        known = [one for one in listed().values() if not one.is_built_in]
        given = request.POST if request.method == "POST" else request.GET
        chosen = ProviderForm(given if "provider" in given else None, providers=known)
        if not chosen.is_valid():
            unusable = [one for one in known if one.provider is None]
            return self.page(request, "connection_add.html", title=title, form=chosen, unusable=unusable)
        one = listed()[chosen.cleaned_data["provider"]]
        assert one.provider is not None, "only those that can be used are offered"
        form = ConnectionForm(request.POST or None, model=one.provider.settings_model, shown={})
        if request.method == "POST" and form.is_valid():
            name = form.cleaned_data["name"]
            try:
                made = create_connection(name=name, provider=one.name, settings=form.settings())
            except InvalidInput as error:
                form.tell(error)
            except EXPECTED as error:
                form.add_error("name", sentence(error))
            else:
                self._test(request, made)
                return redirect("admin:connections_connection_change", made.pk)
        form.withhold()
        return self.page(request, "connection.html", title=title, form=form, provider=one)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One connection: what it is configured with, and the button that asks its service how it is."""
        require(request, "view_connections")
        row = self.found(request, object_id)
        one = listed().get(row.provider)
        form = None
        if one is not None and one.provider is not None and may(request.user, "change_connections", row):
            sent = request.POST if request.method == "POST" else None
            model = one.provider.settings_model
            form = ConnectionForm(sent, model=model, shown=row.settings, initial={"name": row.name})
        if request.method == "POST":
            require(request, "change_connections")
            if form is not None and form.is_valid() and self._changed(request, row, form):
                return redirect(request.path)
        if form is not None:
            form.withhold()
        seen = request.POST.get(FIELD) or mark(_shown_of(row))
        found = {"form": form, "provider": one, "seen": seen, "searched": searched_at(connection_id=row.pk)}
        return self.page(request, "connection.html", title=row.name, row=row, **found)

    def _changed(self, request: HttpRequest, row: Connection, form: ConnectionForm) -> bool:
        before = row.settings
        try:
            with while_as_seen(request.POST, lambda: _shown_of(Connection.objects.select_for_update().get(pk=row.pk))):
                changed = change_connection(name=row.name, new_name=form.cleaned_data["name"], settings=form.settings())
        except InvalidInput as error:
            form.tell(error)
        except EXPECTED as error:
            form.add_error("name", sentence(error))
        else:
            messages.success(request, _("The connection was saved."))
            self._test(request, changed)
            searched = searched_at(connection_id=changed.pk)
            if changed.settings != before and searched:
                names = ", ".join(map(visible, searched))
                text = _(
                    "These collections are searched there: %(names)s. Where the other system does not hold them as "
                    "they were, move them back and there again."
                )
                messages.warning(request, text % {"names": names})
            return True
        return False

    def test_view(self, request: HttpRequest, connection_id: int) -> HttpResponse:
        """Ask the service how it is."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        require(request, "change_connections")
        row = self.found(request, str(connection_id))
        self._test(request, row)
        return redirect("admin:connections_connection_change", row.pk)

    def _test(self, request: HttpRequest, row: Connection) -> None:
        health = try_out(connection=row)
        if health.is_healthy:
            told = ", ".join(f"{key} {value}" for key, value in health.details.items() if not isinstance(value, dict))
            messages.success(request, _("The service answers: %(details)s.") % {"details": told or _("no details")})
        else:
            messages.warning(
                request, _("The service does not answer as it should: %(error)s") % {"error": health.error}
            )

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Forget a connection, once that was confirmed."""
        require(request, "delete_connections")
        row = self.found(request, object_id)
        if request.method == "POST":
            try:
                delete_connection(name=row.name)
            except EXPECTED as error:
                messages.error(request, sentence(error))
            else:
                messages.success(request, _("The connection was removed. What its service holds stays there."))
            return redirect("admin:connections_connection_changelist")
        searched = searched_at(connection_id=row.pk)
        return self.page(request, "connection_delete.html", title=_("Remove connection"), row=row, searched=searched)


def _shown_of(row: Connection) -> Any:
    """What its form shows; the time tells of a secret that was changed."""
    return [row.name, row.settings, row.updated_at]
