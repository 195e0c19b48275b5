"""A collection's settings and its metadata as pages: what is sent is checked and saved by services."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _

from collections_app.describing import MetadataChange, describe_collection, description_of, metadata_changes
from collections_app.models import Collection
from collections_app.selectors import get_summary
from collections_app.services import change_collection, lock_collection, update_metadata
from console_app.collection_forms import CollectionSettingsForm, MetadataEditorForm, initial_settings
from console_app.failures import EXPECTED, sentence
from console_app.seen import FIELD, mark, while_as_seen
from search_app.capabilities import Capabilities, Capability, capabilities
from search_app.modes import MODE_NAMES
from search_app.tuning import set_search_settings

#: Of a value in the list of changes.
LONGEST_VALUE = 300


@dataclass(frozen=True, kw_only=True)
class SettingsPage:
    """The form, and whether what was sent is saved."""

    form: CollectionSettingsForm
    can: Capabilities
    #: What the form was made for, for its hidden field.
    seen: str
    is_saved: bool = False

    @property
    def modes(self) -> list[tuple[str, Capability]]:
        """Modes that lack what they expect."""
        found = [(name, self.can.of_mode(name)) for name in MODE_NAMES]
        return [(name, capability) for name, capability in found if not capability.is_there]


def settings_page(
    row: Collection, data: Mapping[str, Any] | None, *, may_be_called: Callable[[str], bool]
) -> SettingsPage:
    """The settings of a collection, saved together or not at all where `data` was sent."""
    can = capabilities(row)
    initial, _own = now = _shown_of(row)
    aliases = initial["aliases"].splitlines()
    form = CollectionSettingsForm(data, initial=initial, can=can)
    seen = mark(now) if data is None else str(data.get(FIELD, ""))
    if data is None or not form.is_valid():
        return SettingsPage(form=form, can=can, seen=seen)
    if form.cleaned_data["name"] != row.name and not may_be_called(form.cleaned_data["name"]):
        form.add_error("name", _("Your account does not reach a collection of this name. Choose another."))
        return SettingsPage(form=form, can=can, seen=seen)
    foreign = sorted(name for name in {*form.cleaned_data["aliases"]} ^ {*aliases} if not may_be_called(name))
    if foreign:
        form.add_error("aliases", _("Your account does not reach this name: %(name)s.") % {"name": foreign[0]})
        return SettingsPage(form=form, can=can, seen=seen)
    try:
        with while_as_seen(data, lambda: _shown_of(lock_collection(collection_id=row.pk))):
            _save(row, form, aliases=aliases)
    except EXPECTED as error:
        form.add_error(None, sentence(error))
        return SettingsPage(form=form, can=can, seen=seen)
    return SettingsPage(form=form, can=can, seen=seen, is_saved=True)


def _shown_of(row: Collection) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """What the form shows first, and the search settings as they are kept."""
    aliases = list(get_summary(name=row.name).aliases)
    return initial_settings(row, description=description_of(row), aliases=aliases), row.search


def _save(row: Collection, form: CollectionSettingsForm, *, aliases: list[str]) -> None:
    asked = form.cleaned_data
    with transaction.atomic():
        if asked["description"].strip() != description_of(row):
            describe_collection(name=row.name, description=asked["description"])
        if dict(form.search_settings) != dict(row.search):
            set_search_settings(name=row.name, own=form.search_settings)
        new_name = asked["name"] if asked["name"] != row.name else None
        new_aliases = asked["aliases"] if set(asked["aliases"]) != set(aliases) else None
        if new_name is not None or new_aliases is not None:
            change_collection(name=row.name, new_name=new_name, keep_alias=asked["keep_alias"], aliases=new_aliases)


def save_metadata(row: Collection, form: MetadataEditorForm, data: Mapping[str, Any]) -> bool:
    """Save what the form holds, if it is valid and made for the metadata as it is; errors are the form's."""
    if not form.is_valid():
        return False
    try:
        with while_as_seen(data, lambda: lock_collection(collection_id=row.pk).metadata):
            update_metadata(name=row.name, metadata=form.cleaned_data["metadata"], merge=form.cleaned_data["merge"])
    except EXPECTED as error:
        form.add_error(None, sentence(error))
        return False
    return True


def preview_metadata(request: HttpRequest, row: Collection) -> dict[str, Any]:
    """What saving would do, or why it cannot be saved."""
    form = MetadataEditorForm(request.POST)
    if not form.is_valid():
        return {"errors": [error for errors in form.errors.values() for error in errors]}
    sent, merge = form.cleaned_data["metadata"], form.cleaned_data["merge"]
    changes = metadata_changes(before=row.metadata, sent=sent, merge=merge)
    return {"changes": [_shown(change) for change in changes], "errors": []}


def _shown(change: MetadataChange) -> dict[str, str]:
    return {
        "key": change.key,
        "kind": change.kind,
        "before": "" if change.kind == "added" else _value(change.before),
        "after": "" if change.kind == "removed" else _value(change.after),
    }


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
