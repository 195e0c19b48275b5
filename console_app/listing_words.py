"""What the lists of chunks and documents say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from collections_app.browsing import Counted
from console_app.templatetags.console import thousands

Sentence = str | Promise


@dataclass(frozen=True, kw_only=True)
class Words:
    """One list's sentences, its address and its sign."""

    name: Sentence
    url: str
    icon: str
    #: What the form does, for screen readers.
    which: Sentence
    everything: Sentence
    #: Where nothing fits what is asked for; where there is nothing at all.
    none_fits: Sentence
    why_none_fits: Sentence
    none: Sentence
    why_none: Sentence
    first: Sentence
    before: Sentence
    after: Sentence
    #: `{number}+` and a number of rows.
    more: Callable[[str], str]
    number: Callable[[int, str], str]
    looked_at: Sentence

    def count(self, counted: Counted) -> str:
        shown = thousands(counted.number)
        return self.more(shown) if counted.is_capped else self.number(counted.number, shown)


CHUNKS = Words(
    name=_("Chunks"),
    url="admin:collections_chunk_changelist",
    icon="segment",
    which=_("Which chunks"),
    everything=_("All chunks"),
    none_fits=_("No chunk fits"),
    why_none_fits=_("Nothing that is stored passes these filters. Take one away, or look at all chunks."),
    none=_("No chunks"),
    why_none=_("Chunks are the passages that searches return. Upload files to a collection to get some."),
    first=_("Newest"),
    before=_("Newer"),
    after=_("Older"),
    more=lambda number: gettext("%(number)s+ chunks") % {"number": number},
    number=lambda count, number: ngettext("%(number)s chunk", "%(number)s chunks", count) % {"number": number},
    looked_at=_(
        "No index answers this filter, so %(number)s chunks were looked at for this page. The next page goes on with "
        "the ones after them."
    ),
)
CHUNKS_OF_DOCUMENT = replace(CHUNKS, first=_("From the beginning"), before=_("Earlier chunks"), after=_("Later chunks"))
DOCUMENTS = Words(
    name=_("Documents"),
    url="admin:collections_document_changelist",
    icon="description",
    which=_("Which documents"),
    everything=_("All documents"),
    none_fits=_("No document fits"),
    why_none_fits=_("Nothing that is stored passes these filters. Take one away, or look at all documents."),
    none=_("No documents"),
    why_none=_("Documents appear here as soon as uploaded files are indexed."),
    first=_("Newest"),
    before=_("Newer"),
    after=_("Older"),
    more=lambda number: gettext("%(number)s+ documents") % {"number": number},
    number=lambda count, number: ngettext("%(number)s document", "%(number)s documents", count) % {"number": number},
    looked_at=_(
        "No index answers this, so %(number)s documents were looked at for this page. The next page goes on with the "
        "ones after them."
    ),
)
