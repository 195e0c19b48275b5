"""The page of what embeds a collection."""

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
from unfold.widgets import UnfoldAdminSelectWidget  # type: ignore[import-untyped]

from collections_app.embedding import choose_embedding, embedding_choice
from connections_app.services import BUILT_IN, names_of_kind
from console_app.failures import EXPECTED, sentence
from console_app.pages import ServiceAdmin
from console_app.permissions import require
from core_app.model_providers import ProviderKind


class EmbeddingForm(forms.Form):
    """The connection that embeds."""

    connection = forms.ChoiceField(
        label=gettext_lazy("Embedded by"),
        widget=UnfoldAdminSelectWidget(),
        help_text=gettext_lazy("Texts of this collection and the queries for it are sent there."),
    )

    def __init__(self, *args: Any, names: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["connection"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(BUILT_IN, _("This server's own model")), *((name, name) for name in names)]


class EmbeddingPages(ServiceAdmin):
    """Of collections: what embeds them."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.embedding_view)
        own = path("<int:collection_id>/embedding/", view, name="collections_collection_embedding")
        return [own, *super().get_urls()]

    def embedding_view(self, request: HttpRequest, collection_id: int) -> HttpResponse:
        """What embeds its texts and the queries for it: seen, changed."""
        require(request, "view_collections")
        row = self.found(request, str(collection_id))
        is_sent = request.method == "POST"
        if is_sent:
            require(request, "change_collections")
        choice = embedding_choice(name=row.name)
        names = names_of_kind(kind=ProviderKind.EMBEDDINGS)
        if choice.connection not in {BUILT_IN, *names}:
            names = sorted([*names, choice.connection])
        form = EmbeddingForm(request.POST if is_sent else None, names=names, initial={"connection": choice.connection})
        if is_sent and form.is_valid():
            try:
                choose_embedding(name=row.name, connection=form.cleaned_data["connection"])
            except EXPECTED as error:
                form.add_error("connection", sentence(error))
            else:
                messages.success(request, _("The collection is embedded so from now on."))
                return redirect("admin:collections_collection_change", row.pk)
        title = _("What embeds %(name)s") % {"name": row.name}
        return self.page(request, "embedding.html", title=title, row=row, form=form, choice=choice)
