"""What staff fill in. A form checks its own shape; the rules belong to the services and come back as sentences."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import (  # type: ignore[import-untyped]
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from access_app.models import Verb
from collections_app.filters import MAX_DESCRIPTION
from collections_app.models import Distance
from console_app.language_names import language_name
from core_app.api import parse_json, reject_unstorable
from core_app.errors import InvalidInput
from core_app.names import visible
from core_app.wiring import app_settings, store
from ingest_app.chunking_settings import LARGEST, SMALLEST, Strategy
from search_app.serializers import MAX_QUERY_LENGTH

MOST_PASSAGES = 100
#: Characters of a text: more than any cross-encoder reads.
MOST_COMPARED = 100_000


class MetadataField(forms.CharField):
    """A JSON object as text; white space alone means an empty one."""

    def __init__(self, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": 5, "spellcheck": "false"})
        super().__init__(**{"required": False, "widget": widget, **kwargs})

    def prepare_value(self, value: Any) -> Any:
        return json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, dict) else value

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return {}
        try:
            parsed = parse_json(text)
            reject_unstorable(parsed, "Metadata")
        except InvalidInput as error:
            raise forms.ValidationError(error.detail.replace("The body", "This")) from None
        if not isinstance(parsed, dict):
            raise forms.ValidationError(_('Write a JSON object, such as {"team": "support"}.'))
        return parsed


class CollectionForm(forms.Form):
    """A new collection."""

    name = forms.CharField(
        label=_("Name"),
        max_length=512,
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True, "autocomplete": "off"}),
        help_text=_(
            "Applications use it in addresses, so short and without spaces is pleasant: handbook, tickets-2024."
        ),
    )
    distance = forms.ChoiceField(
        label=_("Distance"),
        choices=Distance.choices,
        widget=UnfoldAdminSelectWidget(),
        help_text=_("How vectors are compared. Cosine fits the built-in model; it cannot be changed later."),
    )
    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        widget=UnfoldAdminSelectWidget(),
        initial="english",
        help_text=_(
            "Whose stems and stop words are used. Simple has neither, for mixed texts. It can be changed later."
        ),
    )
    metadata = MetadataField(
        label=_("Metadata"), help_text=_("Optional: a JSON object with whatever you want to remember about it.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "language", languages(store(app_settings().vector_database.provider).languages))

    def clean_language(self) -> str:
        return self.cleaned_data["language"] or "english"


class LanguageForm(forms.Form):
    """The language of a collection's words."""

    language = forms.ChoiceField(
        label=_("Language"),
        widget=UnfoldAdminSelectWidget(),
        help_text=_("Words are found by their stems, and stop words left out. Simple has neither: for mixed texts."),
    )

    def __init__(self, *args: Any, known: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "language", languages(known))


class ChunkingForm(forms.Form):
    """How a collection's texts are cut, and what to try it on."""

    strategy = forms.ChoiceField(
        label=_("Strategy"),
        choices=[
            (Strategy.STRUCTURE, _("By structure: sections, blocks, sentences; tables between rows")),
            (Strategy.FIXED, _("Windows of equal size")),
            (Strategy.WHOLE, _("Not at all: one chunk a document")),
        ],
        widget=UnfoldAdminSelectWidget(),
    )
    size = forms.IntegerField(
        label=_("Size"),
        min_value=SMALLEST,
        max_value=LARGEST,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text=_("Most tokens of one chunk. A model reads only so many: all-MiniLM-L6-v2 reads 256."),
    )
    overlap = forms.IntegerField(
        label=_("Overlap"),
        min_value=0,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text=_("Tokens that a chunk repeats of the one before it, at most half of the size."),
    )
    parent_size = forms.IntegerField(
        label=_("Parent size"),
        required=False,
        min_value=0,
        max_value=LARGEST,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text=_(
            "Small to find, big to show: a search shows the neighbours around the chunk it found, at most so "
            "many tokens and at least the size. Empty or 0: the chunk itself."
        ),
    )
    source = forms.CharField(
        required=False,
        label=_("Try it on a document"),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text=_("The name of a document of this collection, such as guide.md."),
    )
    text = forms.CharField(
        required=False,
        strip=False,
        label=_("Or on a text of your own"),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6, "spellcheck": "false"}),
    )


class TypedNameForm(forms.Form):
    """Asks for the collection's name, so that nothing large goes with one careless click."""

    name = forms.CharField(
        label=_("Type the collection's name"),
        strip=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "autofocus": True}),
    )

    def __init__(self, *args: Any, expected: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._expected = expected

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        # As it is shown is as good: nobody can type a character that cannot be seen.
        if name not in {self._expected, visible(self._expected)}:
            raise forms.ValidationError(_("This is not the collection's name. Nothing was deleted."))
        return name


class _ManyFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class ManyFilesField(forms.FileField):
    """Several files in one input; the cleaned value is a list."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"widget": _ManyFilesInput(attrs={"class": "rs-drop__input"}), **kwargs})

    def clean(self, data: Any, initial: Any = None) -> Any:
        uploads = data if isinstance(data, list | tuple) else [data]
        # Empty files are for the job to report, each by its name: here they would stop the others.
        given = [upload for upload in uploads if isinstance(upload, UploadedFile)]
        if not given:
            raise forms.ValidationError(_("Choose at least one file."))
        limits = app_settings().ingestion
        if len(given) > limits.max_files:
            raise forms.ValidationError(
                ngettext(
                    "Choose at most %(number)s file at a time.",
                    "Choose at most %(number)s files at a time.",
                    limits.max_files,
                )
                % {"number": limits.max_files}
            )
        if sum(upload.size or 0 for upload in given) > limits.max_request_bytes:
            most = filesizeformat(limits.max_request_bytes)
            raise forms.ValidationError(
                _("These files are larger than %(most)s together. Upload them in parts.") % {"most": most}
            )
        return given


class UploadForm(forms.Form):
    """Files for one collection."""

    collection = forms.ChoiceField(label=_("Collection"), widget=UnfoldAdminSelectWidget())
    file = ManyFilesField(label=_("Files"))
    metadata = MetadataField(
        label=_("Metadata for these files"),
        help_text=_('Optional: a JSON object such as {"team": "support"}; every passage of these files carries it.'),
    )

    def __init__(self, *args: Any, collections: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "collection", collections)


class RerankForm(forms.Form):
    """A query and the two texts that are compared by it."""

    query = forms.CharField(
        label=_("Query"),
        max_length=MAX_QUERY_LENGTH,
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True, "autocomplete": "off", "class": "rs-wide"}),
    )
    first = forms.CharField(
        label=_("First text"), max_length=MOST_COMPARED, widget=UnfoldAdminTextareaWidget(attrs={"rows": 5})
    )
    second = forms.CharField(
        label=_("Second text"), max_length=MOST_COMPARED, widget=UnfoldAdminTextareaWidget(attrs={"rows": 5})
    )


class NamedFilterForm(forms.Form):
    """A filter that a collection keeps; the builder writes into `where`."""

    name = forms.CharField(
        label=_("Name"),
        max_length=512,
        strip=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text=_("Searches call the filter by it."),
    )
    description = forms.CharField(
        label=_("Description"),
        max_length=MAX_DESCRIPTION,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text=_("Optional: what it is for."),
    )
    where = forms.CharField(
        label=_("Where"),
        strip=False,
        widget=forms.Textarea(),
        error_messages={"required": _("Add at least one condition.")},
    )


class ApiKeyForm(forms.Form):
    """A new key: who it is for, what it may do, where and for how long."""

    name = forms.CharField(
        label=_("Name"),
        max_length=200,
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True, "autocomplete": "off"}),
        help_text=_("Who will use it: an application, a team."),
    )
    verbs = forms.MultipleChoiceField(
        label=_("May"),
        choices=Verb.choices,
        initial=[Verb.READ, Verb.SEARCH],
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        error_messages={"required": _("Choose at least one.")},
    )
    collections = forms.CharField(
        label=_("Collections"),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "spellcheck": "false"}),
        initial="*",
        help_text=_("Names, one a line. An asterisk stands for any characters: team-* or, for all collections, *."),
    )
    expires_on = forms.DateField(
        label=_("Last day"),
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"type": "date"}),
        help_text=_("Optional: valid through this day (UTC)."),
    )

    def clean_collections(self) -> list[str]:
        lines = str(self.cleaned_data["collections"]).splitlines()
        return [line.strip() for line in lines if line.strip()]

    def clean_expires_on(self) -> datetime.date | None:
        day: datetime.date | None = self.cleaned_data["expires_on"]
        if day is not None and day < datetime.datetime.now(tz=datetime.UTC).date():
            raise forms.ValidationError(_("This day is over. Choose today or later."))
        return day


def languages(known: Sequence[str]) -> list[tuple[str, str]]:
    """Names of languages to choose from."""
    return [(name, language_name(name)) for name in known]


def choose(form: forms.Form, name: str, choices: Sequence[tuple[Any, str]]) -> None:
    """Set what a field lets choose from."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    # What is chosen from is a name at times.
    field.choices = [(value, visible(str(label))) for value, label in choices]
