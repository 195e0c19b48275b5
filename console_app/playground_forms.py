"""What the playground asks: one question, and one or two ways to search for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from console_app.filtering import MAX_TEXT
from console_app.forms import MOST_PASSAGES
from core_app.errors import InvalidInput
from core_app.where import parse_where_text
from search_app.asking import DEFAULT_LIMIT, LARGEST_GROUP, Expansion, SearchOptions, options_of
from search_app.capabilities import rerankers
from search_app.modes import MODES
from search_app.serializers import MAX_QUERY_LENGTH
from search_app.services import MOST_COLLECTIONS

#: Of the address: the second way to search has this before each of its fields.
OTHER = "b"
_OPEN = ("", _("As the collection has it"))
_EXPANSIONS = (
    _OPEN,
    ("window:1", _("its neighbours")),
    ("section", _("its section")),
    ("document", _("its document")),
)
#: As names of filters are at most.
LONGEST_FILTER_NAME = 512
_WRITE = format_lazy(_("Write a query of 1 to {most} characters."), most=MAX_QUERY_LENGTH)


def _slider(**attrs: Any) -> forms.FloatField:
    """A number from 0 to 1; a script puts a slider beside it."""
    label, help_text = attrs.pop("label"), attrs.pop("help_text")
    widget = UnfoldAdminIntegerFieldWidget(attrs={"step": "0.05", "data-slider": "", "placeholder": _("open"), **attrs})
    return forms.FloatField(label=label, help_text=help_text, min_value=0, max_value=1, required=False, widget=widget)


class QuestionForm(forms.Form):
    """What to look for, and where."""

    collection = forms.MultipleChoiceField(
        label=_("Collections"),
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        error_messages={"required": _("Choose at least one collection.")},
    )
    query = forms.CharField(
        label=_("Query"),
        max_length=MAX_QUERY_LENGTH,
        widget=UnfoldAdminTextInputWidget(
            attrs={"placeholder": _("Ask in your own words, or use the text's"), "autofocus": True, "class": "rs-wide"}
        ),
        required=False,
        error_messages={"max_length": _WRITE},
    )
    topic = forms.CharField(
        label=_("Topic"),
        required=False,
        max_length=MAX_QUERY_LENGTH,
        widget=UnfoldAdminTextInputWidget(attrs={"class": "rs-wide"}),
        help_text=_("What a conversation is about so far: it is searched for in place of a follow-up's words."),
    )
    missed = forms.CharField(
        label=_("Where is my passage?"),
        required=False,
        max_length=4096,
        strip=True,
        widget=UnfoldAdminTextInputWidget(attrs={"class": "rs-wide", "autocomplete": "off"}),
        help_text=_("A passage's id or a document's source: you are told at which rank it is, or what kept it out."),
    )
    compare = forms.BooleanField(required=False, label=_("Search in a second way, too"))
    case = forms.IntegerField(required=False, widget=forms.HiddenInput())

    def __init__(self, *args: Any, collections: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["collection"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(name, name) for name in collections]

    def clean(self) -> dict[str, Any]:
        """A topic takes a query's place."""
        if not self.cleaned_data.get("topic") and not self.cleaned_data.get("query") and "query" not in self.errors:
            self.add_error("query", _WRITE)
        return self.cleaned_data

    def clean_collection(self) -> list[str]:
        names: list[str] = self.cleaned_data["collection"]
        if len(names) > MOST_COLLECTIONS:
            raise forms.ValidationError(_("Choose at most %(most)s.") % {"most": MOST_COLLECTIONS})
        return names


def _is_expansion(text: str) -> bool:
    try:
        Expansion.parse(text)
    except InvalidInput:
        return False
    return True


class RerankerSelect(UnfoldAdminSelectWidget):  # type: ignore[misc]  # django-unfold has no types
    """Offers the rerankers that are there; of the others it says why they are not."""

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(name, value, *args, **kwargs)
        found = rerankers().get(str(value))
        if found is not None and not found.is_there:
            option["attrs"] |= {"disabled": True, "title": found.reason}
            option["label"] = _("%(name)s: not there") % {"name": option["label"]}
        return option


class SettingsForm(forms.Form):
    """One way to search."""

    mode = forms.ChoiceField(
        label=_("Mode"),
        choices=[_OPEN, *((name, f"{name}, {mode.budget_ms} ms") for name, mode in MODES.items())],
        required=False,
        widget=UnfoldAdminSelectWidget(),
    )
    top_k = forms.IntegerField(
        label=_("Passages"),
        min_value=1,
        max_value=MOST_PASSAGES,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"placeholder": str(DEFAULT_LIMIT)}),
    )
    fusion = forms.ChoiceField(
        label=_("Fusion"),
        choices=[_OPEN, ("rrf", _("rrf: by ranks")), ("calibrated", _("calibrated: by scores"))],
        required=False,
        widget=UnfoldAdminSelectWidget(),
    )
    lexical_weight = _slider(
        label=_("Weight of words"),
        help_text=_("0 is meaning alone, 1 words alone; of a calibrated fusion. Empty: as the collection has it."),
    )
    min_score = _slider(label=_("Least score"), help_text=_("Least similarity. Empty: as the collection has it."))
    legs = forms.ChoiceField(
        label=_("Legs"),
        choices=[
            ("", _("As the server has it")),
            ("hybrid", _("hybrid: meaning and words")),
            ("dense", _("dense: meaning alone")),
            ("lexical", _("lexical: words alone")),
        ],
        required=False,
        widget=UnfoldAdminSelectWidget(),
    )
    reranker = forms.ChoiceField(
        label=_("Reranker"),
        choices=[
            ("", _("As the mode has it")),
            ("none", _("none")),
            ("cross-encoder", _("cross-encoder")),
            ("llm", _("chat model")),
        ],
        required=False,
        widget=RerankerSelect(),
    )
    group_size = forms.IntegerField(
        label=_("Of one document"),
        min_value=1,
        max_value=LARGEST_GROUP,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"placeholder": _("open")}),
        help_text=_("Most passages of it; results then count documents."),
    )
    expand = forms.ChoiceField(
        label=_("Show around it"),
        choices=_EXPANSIONS,
        required=False,
        widget=UnfoldAdminSelectWidget(),
    )
    diversity = _slider(label=_("Diversity"), help_text=_("How much results are to differ. Empty: not."))
    where = forms.CharField(
        label=_("Filter"),
        max_length=MAX_TEXT,
        required=False,
        widget=UnfoldAdminTextareaWidget(
            attrs={"rows": 2, "placeholder": '{"source": "guide.md"}', "spellcheck": "false"}
        ),
    )

    filter = forms.CharField(
        label=_("Kept filter"),
        required=False,
        max_length=LONGEST_FILTER_NAME,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": _("its name"), "autocomplete": "off"}),
        help_text=_("A filter that each collection keeps by this name. With the filter below, both must hold."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # What the API takes beyond the choices is shown as it is, and stays.
        own, field = str(self["expand"].value() or ""), self.fields["expand"]
        assert isinstance(field, forms.ChoiceField)
        offered: list[tuple[str, Any]] = list(_EXPANSIONS)
        if own not in dict(offered) and _is_expansion(own):
            offered.append((own, own))
        field.choices = offered

    def clean_where(self) -> Any:
        """The filter as JSON; null for none."""
        text = self.cleaned_data["where"].strip()
        if not text:
            return None
        try:
            parse_where_text(text)
        except InvalidInput as error:
            raise forms.ValidationError(error.detail) from None
        return json.loads(text) or None

    @property
    def is_touched(self) -> bool:
        """Whether something of it is set, or wrong."""
        return bool(self.errors) or any(self[name].value() for name in self.fields)

    def given(self) -> dict[str, Any]:
        """What is set, as the API's body has it."""
        return {key: value for key, value in self.cleaned_data.items() if value not in (None, "")}

    def options(self) -> SearchOptions:
        """The same as the service takes it."""
        return options_of(self.given())
