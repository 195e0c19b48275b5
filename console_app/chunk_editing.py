"""The page on which a chunk is edited: its text and metadata, and what saving them would change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget  # type: ignore[import-untyped]

from collections_app.editing import (
    MOST_CHARACTERS,
    Edit,
    edit_chunk,
    fixed_metadata,
    own_metadata,
    plan_edit,
    seen,
    why_no_text,
)
from collections_app.models import Chunk
from console_app.differences import compared
from console_app.failures import EXPECTED, sentence
from console_app.forms import MetadataField

OVERTAKEN = _(
    "This passage was changed meanwhile, or its document was ingested again. Nothing was saved. Below stand what is "
    "stored now, what saving would change in it, and what you wrote."
)


class ChunkForm(forms.Form):
    """A chunk's text and the user's part of its metadata."""

    text = forms.CharField(
        label=_("Text"),
        strip=False,
        max_length=MOST_CHARACTERS,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 12, "dir": "auto"}),
    )
    metadata = MetadataField(
        label=_("Metadata"), help_text=_("A JSON object. A key that is left out here is taken away.")
    )
    #: What the chunk was when the form was made.
    seen = forms.CharField(widget=forms.HiddenInput())


@dataclass(frozen=True, kw_only=True)
class Change:
    """A key of the metadata with its value before and after, as JSON; None where there was or will be none."""

    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class EditPage:
    """The form, and after a look at it what would change."""

    form: ChunkForm
    #: Why the text cannot be edited here; empty where it can.
    no_text: str
    fixed: Mapping[str, Any]
    edit: Edit | None = None
    changes: Sequence[Change] = ()
    #: The text as pieces of the old one, the new one and both: `("old", "duck")`.
    words: Sequence[tuple[str, str]] | None = None
    saved: Chunk | None = None
    #: Where somebody else was quicker: the chunk as it is stored now, which saving again goes by.
    stored: Chunk | None = None


def edit_page(chunk: Chunk, data: Mapping[str, Any] | None) -> EditPage:
    """The page for what was sent: nothing yet, to be looked at, or, with `save` in it, to be stored."""
    no_text, fixed = why_no_text(chunk.collection), fixed_metadata(chunk)
    if data is None:
        initial = {"text": chunk.text, "metadata": own_metadata(chunk), "seen": seen(chunk)}
        return EditPage(form=_form(no_text, initial=initial), no_text=no_text, fixed=fixed)
    form = _form(no_text, data)
    if not form.is_valid():
        return EditPage(form=form, no_text=no_text, fixed=fixed)
    if form.cleaned_data["seen"] != seen(chunk):
        return _overtaken(chunk, data)
    text, metadata = form.cleaned_data.get("text"), form.cleaned_data["metadata"]
    try:
        if "save" in data:
            saved = edit_chunk(
                collection_name=chunk.collection.name,
                external_id=chunk.external_id,
                as_seen=form.cleaned_data["seen"],
                text=text,
                metadata=metadata,
            )
            return EditPage(form=form, no_text=no_text, fixed=fixed, saved=saved)
        edit = plan_edit(chunk=chunk, text=text, metadata=metadata)
    except EXPECTED as error:
        now = _now(chunk) if getattr(error, "code", "") == "changed_meanwhile" else None
        if now is not None:
            return _overtaken(now, data)
        form.add_error(None, sentence(error))
        return EditPage(form=form, no_text=no_text, fixed=fixed)
    return EditPage(form=form, no_text=no_text, fixed=fixed, edit=edit, **_compared(chunk, edit))


def _overtaken(chunk: Chunk, data: Mapping[str, Any]) -> EditPage:
    """What was typed, beside the chunk as somebody else has left it, and how the one differs from the other.

    The form goes by what is stored now: who has seen that may save.
    """
    no_text, fixed = why_no_text(chunk.collection), fixed_metadata(chunk)
    form = _form(no_text, {**{name: data.get(name, "") for name in ("text", "metadata")}, "seen": seen(chunk)})
    form.is_valid()
    form.add_error(None, OVERTAKEN)
    page = EditPage(form=form, no_text=no_text, fixed=fixed, stored=chunk)
    try:
        edit = plan_edit(chunk=chunk, text=form.cleaned_data.get("text"), metadata=form.cleaned_data["metadata"])
    except EXPECTED as error:
        form.add_error(None, sentence(error))
        return page
    return replace(page, edit=edit, **_compared(chunk, edit))


def _now(chunk: Chunk) -> Chunk | None:
    """The same chunk in whatever row it stands by now."""
    rows = Chunk.objects.select_related("document", "collection__active_generation")
    return rows.filter(collection_id=chunk.collection_id, external_id=chunk.external_id).first()


def _compared(chunk: Chunk, edit: Edit) -> dict[str, Any]:
    return {"changes": _changes(edit), "words": None if edit.text is None else compared(chunk.text, edit.text)}


def _form(no_text: str, *args: Any, **kwargs: Any) -> ChunkForm:
    form = ChunkForm(*args, **kwargs)
    if no_text:
        del form.fields["text"]
    return form


def _changes(edit: Edit) -> list[Change]:
    return [
        Change(
            key=field.key,
            before=None if field.is_new else json.dumps(field.before, ensure_ascii=False),
            after=None if field.is_gone else json.dumps(field.after, ensure_ascii=False),
        )
        for field in edit.fields
    ]
