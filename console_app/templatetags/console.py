"""Filters and tags of the console's templates."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

register = template.Library()


@register.simple_tag
def label(text: str, tone: str = "default") -> SafeString:
    """A word on a coloured ground, as django-unfold draws it; tones are its variants."""
    return render_to_string("unfold/helpers/label.html", {"text": text, "type": tone})


@register.filter
def rows(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Metadata as keys and readable values, by key: text as it is, the rest as compact JSON."""
    return [(key, _readable(value)) for key, value in sorted(metadata.items())]


@register.filter
def item(mapping: Mapping[str, Any], key: str) -> Any:
    """`mapping[key]`, or nothing."""
    return mapping.get(key, "")


@register.filter
def sections(path: list[str]) -> str:
    """Headings above a passage, outermost first."""
    return " > ".join(path)


@register.filter
def thousands(number: int | None) -> str:
    """`12345` as `12,345`; nothing for nothing."""
    return "" if number is None else f"{number:,}"


@register.filter
def ago(moment: datetime.datetime) -> str:
    """`3 minutes ago`, to the largest unit."""
    since = timesince(moment, depth=1)
    return "just now" if since.startswith("0") else f"{since} ago"


def _readable(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
