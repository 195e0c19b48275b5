"""The forms above the lists of chunks and documents."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget  # type: ignore[import-untyped]

from collections_app.browsing_chunks import Marked
from collections_app.browsing_documents import Outcome
from core_app.errors import InvalidInput
from core_app.keyset import LARGEST_KEY
from core_app.where import Where, parse_where_text


class WhereField(forms.CharField):
    """A filter as JSON; the value is what it says."""

    def __init__(self, **options: object) -> None:
        attrs = {"placeholder": '{"source": "guide.md"}', "spellcheck": "false"}
        given = {"max_length": 20_000, "required": False, "widget": UnfoldAdminTextInputWidget(attrs=attrs), **options}
        super().__init__(**given)

    def clean(self, value: object) -> Where | None:
        text = super().clean(value)
        try:
            return parse_where_text(text) if text else None
        except InvalidInput as error:
            raise forms.ValidationError(error.detail) from None


class CollectionForm(forms.Form):
    """Of which collection."""

    collection__id__exact = forms.ChoiceField(label=_("Collection"), required=False, widget=UnfoldAdminSelectWidget())


class ChunkListForm(CollectionForm):
    """Which chunks are listed."""

    marked = forms.ChoiceField(
        label=_("Changed by hand"),
        required=False,
        choices=[("", _("All chunks")), (Marked.DISABLED, _("Disabled")), (Marked.EDITED, _("Edited"))],
        widget=UnfoldAdminSelectWidget(),
    )
    where = WhereField(label=_("Filter"))
    document__id__exact = forms.IntegerField(
        required=False, min_value=1, max_value=LARGEST_KEY, widget=forms.HiddenInput()
    )


class DocumentListForm(CollectionForm):
    """Which documents are listed."""

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
    where = WhereField(label=_("Filter"), help_text=_("Documents are shown of which a chunk passes."))
