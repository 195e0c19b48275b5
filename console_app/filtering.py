"""What the filter builder asks for: fields, values, and what a filter means and lets through."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _

from collections_app.fields import MOST_SUGGESTED, Field, observed_fields, suggest_values, text_operators
from collections_app.filters import list_filters, read_filter
from collections_app.models import NamedFilter
from collections_app.previewing import MOST_COUNTED, preview_filter
from collections_app.selectors import get_collection
from console_app.failures import EXPECTED, sentence
from core_app.errors import InvalidInput
from core_app.where import Where, parse_where_text
from core_app.where.operators import MAX_CONDITIONS, MAX_DEPTH
from core_app.where.outline import outline
from core_app.where.schema import describe
from core_app.where.wording import Missing, in_words, missing_keys
from search_app.capabilities import documents_of
from stores_app.values_there import values_there

#: Characters of a filter's text that are read; a larger one is refused by its own bounds anyway.
MAX_TEXT = 200_000
TOO_LONG = _("This filter is too long.")


@dataclass(frozen=True, kw_only=True)
class KeptFilter:
    """A filter that a collection keeps, ready to be shown."""

    row: NamedFilter
    text: str
    meaning: str
    missing: list[Missing]
    #: Why it cannot be used, and what to do; empty where it can.
    problem: str


def kept_filters(collection_name: str) -> list[KeptFilter]:
    """All that a collection keeps, by name."""
    return [_kept(row) for row in list_filters(collection_name=collection_name)]


def _kept(row: NamedFilter) -> KeptFilter:
    where, problem = read_filter(row)
    return KeptFilter(
        row=row,
        text=pretty(row.where),
        meaning="" if problem else in_words(where),
        missing=missing_keys(where),
        problem=problem,
    )


def pretty(where: Any) -> str:
    """A filter's JSON for people."""
    return json.dumps(where, ensure_ascii=False, indent=2)


def builder_data(collection_name: str) -> dict[str, Any]:
    """What the builder lets choose from, as JSON."""
    try:
        found = observed_fields(collection_name=collection_name)
        holder = documents_of(get_collection(name=collection_name))
    except EXPECTED as error:
        return {"refused": sentence(error)}
    note = {"found": found, "is_held_elsewhere": not holder.is_there}
    return {
        "fields": [_field(one) for one in found.fields if one.operators],
        "text_operators": text_operators(),
        "operators": describe(),
        "max_depth": MAX_DEPTH,
        "max_conditions": MAX_CONDITIONS,
        "note": render_to_string("console/_filter_fields_note.html", note).strip(),
        "filters": [{"name": kept.row.name, "text": kept.text} for kept in kept_filters(collection_name)],
    }


def fields_shown(collection_name: str) -> dict[str, Any]:
    """The fields as a part of the collection's page, or why they cannot be told."""
    try:
        documents = documents_of(get_collection(name=collection_name))
        if not documents.is_there:
            return {"refused": documents.reason}
        return {"found": observed_fields(collection_name=collection_name)}
    except EXPECTED as error:
        return {"refused": sentence(error)}


def _field(field: Field) -> dict[str, Any]:
    return {
        "name": field.name,
        "types": field.types,
        "element_types": field.element_types,
        "missing": field.missing,
        "operators": field.operators,
    }


def suggested(collection_name: str, *, key: str, typed: str) -> dict[str, Any]:
    """Values of a field as text, each once; of which type they are is chosen beside them."""
    try:
        if documents_of(get_collection(name=collection_name)).is_there:
            values = [one.value for one in suggest_values(collection_name=collection_name, key=key, typed=typed).values]
        else:
            values = values_there(name=collection_name, key=key, typed=typed, limit=MOST_SUGGESTED)
    except EXPECTED as error:
        return {"values": [], "refused": sentence(error)}
    shown = [value if isinstance(value, str) else json.dumps(value) for value in values]
    return {"values": list(dict.fromkeys(shown))}


def previewed(request: HttpRequest, collection_name: str, text: str) -> dict[str, Any]:
    """The filter as a tree, and what it lets through as HTML; of one that is refused the sentence alone."""
    tree = None
    try:
        where = _read(text)
        tree = outline(where)
        documents = documents_of(get_collection(name=collection_name))
        if not documents.is_there:
            context = {"uncounted": documents.reason, "meaning": in_words(where) if where else ""}
            return _passed(request, tree, context)
        found = preview_filter(collection_name=collection_name, where=where)
    except EXPECTED as error:
        refused = sentence(error)
        html = render_to_string("console/_filter_preview.html", {"refused": refused}, request=request)
        place = error.place if isinstance(error, InvalidInput) else ""
        # What is said at the row itself, where the page finds one at that place.
        said = refused.removeprefix(f"{place}: ") if place else ""
        return {"refused": refused, "place": place, "said": said, "tree": tree, "html": html}
    return _passed(request, tree, {"found": found, "most": MOST_COUNTED})


def _passed(request: HttpRequest, tree: Any, context: dict[str, Any]) -> dict[str, Any]:
    html = render_to_string("console/_filter_preview.html", context, request=request)
    return {"refused": None, "place": "", "said": "", "tree": tree, "html": html}


def _read(text: str) -> Where | None:
    if len(text) > MAX_TEXT:
        raise InvalidInput(str(TOO_LONG))
    return parse_where_text(text) if text.strip() else None
