"""What was read out of a source is kept, so that its passages can be cut anew without the source."""

from __future__ import annotations

from collections_app.models import Document, DocumentText
from ingest_app.parsing.document import ParsedDocument, as_fields, from_fields


def keep(*, document: Document, parsed: ParsedDocument, source_digest: str, given_title: str) -> None:
    """Put this text in place of an older one. Belongs into the transaction that writes the passages."""
    outline = as_fields(parsed)
    text = outline.pop("text")
    DocumentText.objects.update_or_create(
        document=document,
        defaults={"text": text, "outline": outline, "source_digest": source_digest, "given_title": given_title},
    )


def parsed_of(extracted: DocumentText) -> ParsedDocument:
    """The document as it was when its source was read."""
    return from_fields({**extracted.outline, "text": extracted.text})
