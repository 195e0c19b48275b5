"""Filters and tags of the console's templates."""

from __future__ import annotations

import datetime
import json
import shlex
from collections.abc import Mapping
from typing import Any

from django import template
from django.contrib.humanize.templatetags.humanize import NaturalTimeFormatter
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from collections_app.models import Document
from console_app import language_names
from core_app import names
from ingest_app.cures import cure_of
from ingest_app.models import Job

register = template.Library()


@register.simple_tag
def label(text: str, tone: str = "default") -> SafeString:
    """A word on a coloured ground, as django-unfold draws it; tones are its variants."""
    return render_to_string("unfold/helpers/label.html", {"text": text, "type": tone})


@register.simple_tag
def document_state(document: Document) -> SafeString:
    """What became of a document, as a coloured word."""
    if document.state == Document.State.FAILED:
        return label(_("Failed"), "danger")
    return label(_("Update failed"), "warning") if document.error else label(_("Ready"), "success")


@register.filter
def rows(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Metadata as keys and readable values, by key: text as it is, the rest as compact JSON."""
    return [(key, _readable(value)) for key, value in sorted(metadata.items())]


@register.filter
def item(mapping: Mapping[Any, Any], key: Any) -> Any:
    """`mapping[key]`, or nothing."""
    return mapping.get(key, "")


@register.filter
def sections(path: list[str]) -> str:
    """Headings above a passage, outermost first."""
    return " > ".join(path)


@register.filter(is_safe=True)
def visible(name: object) -> str:
    """A name, source or key in which characters that nobody sees are marks."""
    return "" if name is None else names.visible(str(name))


@register.filter(is_safe=True)
def readable(text: object) -> str:
    """A text in which what changes the order of its characters is marked; joiners stay."""
    return "" if text is None else names.readable(str(text))


@register.filter
def thousands(number: int | None) -> str:
    """`12345` as `12,345`, or as the reader's language groups it; nothing for nothing."""
    return "" if number is None else str(number_format(number, force_grouping=True))


@register.filter
def moment(at: datetime.datetime | None) -> str:
    """Day, time and time zone, as the reader's language writes them; nothing for nothing."""
    if at is None:
        return ""
    shown = timezone.localtime(at)
    return _("%(moment)s %(zone)s") % {"moment": date_format(shown, "DATETIME_FORMAT"), "zone": shown.tzname()}


@register.filter
def ago(at: datetime.datetime) -> str:
    """`3 minutes ago`, to the largest unit."""
    # In Django's words for what is past: in other languages they differ from those for a time by itself.
    since = timesince(at, depth=1, time_strings=NaturalTimeFormatter.past_substrings)
    return _("just now") if since.startswith("0") else _("%(delta)s ago") % {"delta": since}


@register.filter
def took(job: Job) -> str:
    """How long a job ran, for people; empty before it began and while it runs."""
    if job.started_at is None or job.finished_at is None:
        return ""
    seconds = (job.finished_at - job.started_at).total_seconds()
    if seconds < 60:
        return _("%(seconds)s s") % {"seconds": f"{seconds:.1f}"}
    return _("%(minutes)s min %(seconds)s s") % {"minutes": f"{seconds // 60:.0f}", "seconds": f"{seconds % 60:.0f}"}


@register.filter
def text_language(name: str) -> str:
    """A language of texts, as people call it; `language_name` is Django's own, for its codes."""
    return language_names.language_name(name)


@register.filter
def cure(code: str) -> str:
    """What helps against a failure of this code."""
    return cure_of(code or "unknown")


def _readable(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@register.filter
def as_json(value: Any) -> str:
    """As it would be sent."""
    return json.dumps(value, ensure_ascii=False)


@register.filter
def shell_quoted(text: str) -> str:
    """One word of a command, whatever it holds."""
    return shlex.quote(text)
