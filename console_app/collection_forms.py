"""What staff fill in on a collection's page: its metadata, and how it is called, described and searched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from collections_app.describing import LONGEST_DESCRIPTION
from collections_app.models import Collection
from console_app.forms import MetadataField
from search_app.capabilities import Capabilities
from search_app.modes import FUSIONS, MODES

FUSION_NAMES = {"rrf": _("By ranks (RRF)"), "calibrated": _("By calibrated scores")}
#: Settings that compare meanings, which takes vectors of the server's model.
OF_MEANING = ("fusion", "lexical_weight", "min_score")
SEARCH_SETTINGS = ("mode", *OF_MEANING)


class MetadataEditorForm(forms.Form):
    """All metadata of a collection, or what is to be put over it."""

    metadata = MetadataField(label=_("Metadata (JSON object)"))
    merge = forms.BooleanField(
        required=False,
        label=_("Keep the keys that are not written here"),
        widget=UnfoldBooleanSwitchWidget(),
    )


class CloneForm(forms.Form):
    """What a copy is called."""

    name = forms.CharField(
        max_length=512,
        label=_("Name of the copy"),
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True, "autocomplete": "off"}),
    )
    filters = forms.BooleanField(
        required=False,
        initial=True,
        label=_("Copy its filters"),
        help_text=_("Those that are kept with it by name."),
        widget=UnfoldBooleanSwitchWidget(),
    )
    test_cases = forms.BooleanField(
        required=False,
        initial=True,
        label=_("Copy its test cases"),
        help_text=_("What was judged goes along and is of the copied passages. Results of earlier runs stay behind."),
        widget=UnfoldBooleanSwitchWidget(),
    )

    def __init__(self, *args: Any, may_copy_tests: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not may_copy_tests:
            del self.fields["test_cases"]


class CollectionSettingsForm(forms.Form):
    """How a collection is called, described and searched."""

    description = forms.CharField(
        required=False,
        max_length=LONGEST_DESCRIPTION,
        label=_("Description"),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "dir": "auto"}),
        help_text=_("What is in it and for whom. It is kept as the metadata key “description”."),
    )
    name = forms.CharField(
        max_length=512,
        label=_("Name"),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text=_("Applications use it in addresses: a new name breaks their calls, unless the old one stays."),
    )
    keep_alias = forms.BooleanField(
        required=False,
        initial=True,
        label=_("When it is renamed, calls under the old name go on to work"),
        widget=UnfoldBooleanSwitchWidget(),
    )
    aliases = forms.CharField(
        required=False,
        label=_("Other names, one a line"),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2, "spellcheck": "false"}),
    )
    mode = forms.ChoiceField(
        required=False,
        label=_("Mode of searches that name none"),
        choices=[("", _("The server's")), *((name, f"{name}, {mode.budget_ms} ms") for name, mode in MODES.items())],
        widget=UnfoldAdminSelectWidget(),
    )
    fusion = forms.ChoiceField(
        required=False,
        label=_("How meaning and words are put together"),
        choices=[("", _("As the mode has it")), *((name, FUSION_NAMES[name]) for name in FUSIONS)],
        widget=UnfoldAdminSelectWidget(),
    )
    lexical_weight = forms.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        label=_("Weight of the words, 0 to 1"),
        widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "0.05"}),
        help_text=_("Of calibrated scores; meaning has the rest. Empty: each query decides."),
    )
    min_score = forms.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        label=_("Least similarity, 0 to 1"),
        widget=UnfoldAdminIntegerFieldWidget(attrs={"step": "0.05"}),
        help_text=_("Passages further away are left out. Empty: none are."),
    )

    def __init__(self, *args: Any, can: Capabilities, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not can.query_embedding.is_there:
            for name in OF_MEANING:
                self.fields[name].disabled = True
                self.fields[name].help_text = can.query_embedding.reason
                self.fields[name].widget.attrs["title"] = can.query_embedding.reason

    def clean_aliases(self) -> list[str]:
        return [line.strip() for line in self.cleaned_data["aliases"].splitlines() if line.strip()]

    @property
    def search_settings(self) -> Mapping[str, Any]:
        """Of the cleaned data; what is empty is not the collection's own."""
        return {name: self.cleaned_data[name] for name in SEARCH_SETTINGS if self.cleaned_data[name] not in ("", None)}


def initial_settings(row: Collection, *, description: str, aliases: list[str]) -> dict[str, Any]:
    """What the form shows first."""
    own = {name: row.search.get(name) for name in SEARCH_SETTINGS}
    return {**own, "description": description, "name": row.name, "aliases": "\n".join(aliases), "keep_alias": True}
