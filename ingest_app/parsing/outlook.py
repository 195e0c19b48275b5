"""Messages that Outlook saved (.msg), read as other mail is."""

from __future__ import annotations

import email.parser
import io
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from olefile import OleFileIO  # type: ignore[import-untyped]
from oxmsg.domain import constants as c
from oxmsg.domain.encodings import encoding_from_codepage
from oxmsg.domain.model import UnrecognizedCodePageError, UnsupportedEncodingError
from oxmsg.storage import Storage

from ingest_app.parsing.compressed_rtf import decompressed
from ingest_app.parsing.document import MAX_CHARACTERS, ParsedDocument
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.mail import (
    MAX_DEPTH,
    Message,
    Text,
    better,
    date_of,
    decoded,
    document_of,
    page,
    person,
    words,
)
from ingest_app.parsing.media_types import MSG
from ingest_app.parsing.rtf import parse as parse_rtf

# Of a recipient: 1 is to whom it goes, 2 who gets a copy, 3 a blind copy ([MS-OXOMSG] 2.2.3.1.2).
_TO, _COPIED, _BLIND = 1, 2, 3
#: Finding a stream looks at all entries of the folders it is in; each recipient has a folder.
MAX_ENTRIES_IN_FOLDER = 3_000
# How long the properties' own header is: of a message, of one within another, of recipients and attachments.
_MESSAGE, _EMBEDDED, _OTHER = 32, 24, 8
#: A property's type and number, flags, and what it holds where that is of a fixed size.
_ENTRY = struct.Struct("<HH4xQ")
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_EMBEDDED_MESSAGE = f"__substg1.0_{c.PID_ATTACH_DATA_BINARY:04X}{c.PTYP_OBJECT:04X}"
_SENT_REPRESENTING_SMTP_ADDRESS = 0x5D02
#: Whom Outlook shows as the sender: on whose behalf it was sent, else who sent it.
_SENDERS = (
    (c.PID_SENT_REPRESENTING_NAME, _SENT_REPRESENTING_SMTP_ADDRESS, c.PID_SENT_REPRESENTING_EMAIL_ADDRESS),
    (c.PID_SENDER_NAME, c.PID_SENDER_SMTP_ADDRESS, c.PID_SENDER_EMAIL_ADDRESS),
)


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from a message of Outlook. The title: its subject."""
    try:
        message = _message(_Item(_root(content), header=_MESSAGE), depth=0)
    except (UnableToParse, MemoryError, RecursionError):
        raise
    except Exception as error:  # whatever a broken file makes oxmsg or olefile raise
        raise UnableToParse(
            "The message is damaged or was cut off: save it again in Outlook and upload that.", "corrupt_file"
        ) from error
    return document_of(message, name=name, media_type=MSG)


def _root(content: bytes) -> Storage:
    with OleFileIO(io.BytesIO(content)) as ole:
        entries = [entry for entry in ole.direntries if entry is not None]
        # Streams may share what they hold, so that a small file comes to more than any memory.
        is_larger = sum(entry.size for entry in entries) > 2 * len(content)
        if is_larger or any(len(entry.kids) > MAX_ENTRIES_IN_FOLDER for entry in entries):
            raise UnableToParse(
                "The message holds far more than one does: save it again in Outlook, or upload its text.", "too_large"
            )
        return Storage.from_ole(ole)


class _Item:
    """The properties of a message, recipient or attachment; what is missing or broken is empty."""

    def __init__(self, storage: Storage, *, header: int, code_page: str = "") -> None:
        self.storage = storage
        # Oxmsg's own reader of these refuses all of them for one that it does not know.
        try:
            entries = storage.properties_stream_bytes[header:]
        except KeyError:
            entries = b""
        whole = len(entries) // _ENTRY.size * _ENTRY.size
        self._fixed: dict[tuple[int, int], int] = {
            (number, kind): value for kind, number, value in _ENTRY.iter_unpack(entries[:whole])
        }
        self.code_page = self.encoding(c.PID_MESSAGE_CODEPAGE) or self.encoding(c.PID_INTERNET_CODEPAGE) or code_page

    def text(self, *property_ids: int) -> str:
        """The first of the properties that says something."""
        return next((text for text in map(self._text, property_ids) if text), "")

    def address(self, *property_ids: int) -> str:
        """The first of the properties that is an address of the internet; Exchange has others for itself."""
        return next((text for text in map(self._text, property_ids) if "@" in text), "")

    def long_text(self, property_id: int) -> str:
        """A text with its lines."""
        raw = self.binary(property_id, c.PTYP_STRING)
        if raw:
            return raw.decode("utf-16-le", "replace")
        return decoded(self.binary(property_id, c.PTYP_STRING8), self.code_page) or ""

    def binary(self, property_id: int, kind: int = c.PTYP_BINARY) -> bytes:
        try:
            return self.storage.property_stream_bytes(property_id, kind)
        except KeyError:
            return b""

    def number(self, property_id: int, kind: int = c.PTYP_INTEGER_32) -> int:
        """Zero where it is missing, as if it were false."""
        return self._fixed.get((property_id, kind), 0) & 0xFFFFFFFF

    def encoding(self, property_id: int) -> str:
        """What a code page is called in Python."""
        try:
            return encoding_from_codepage(self.number(property_id))
        except (UnrecognizedCodePageError, UnsupportedEncodingError):
            return ""

    def date(self, *property_ids: int) -> datetime | None:
        """The first of the properties that is set."""
        ticks = next(filter(None, (self._fixed.get((number, c.PTYP_TIME)) for number in property_ids)), 0)
        try:
            return _EPOCH + timedelta(microseconds=ticks // 10) if ticks else None
        except OverflowError:
            return None

    def items(self, storages: Iterator[Storage]) -> list[_Item]:
        return [_Item(storage, header=_OTHER, code_page=self.code_page) for storage in storages]

    def _text(self, property_id: int) -> str:
        return words(self.long_text(property_id))


def _message(item: _Item, *, depth: int) -> Message:
    headers = email.parser.HeaderParser().parsestr(item.long_text(c.PID_TRANSPORT_MESSAGE_HEADERS))
    recipients = item.items(item.storage.iter_recipient_storages())
    attachments: list[str] = []
    forwarded: list[Message] = []
    for attachment in item.items(item.storage.iter_attachment_storages()):
        inner = next((found for found in attachment.storage.storages if found.name == _EMBEDDED_MESSAGE), None)
        # An object of another program lies in the same place and is no message.
        if inner is not None and any(stream.name == "__properties_version1.0" for stream in inner.streams):
            embedded = _Item(inner, header=_EMBEDDED, code_page=item.code_page)
            if depth < MAX_DEPTH:
                forwarded.append(_message(embedded, depth=depth + 1))
            else:
                attachments.append(embedded.text(c.PID_SUBJECT) or "Message without subject")
        elif not attachment.number(c.PID_ATTACHMENT_HIDDEN, c.PTYP_BOOLEAN) & 0xFF:
            named = attachment.text(c.PID_ATTACH_LONG_FILENAME, c.PID_ATTACH_FILENAME, c.PID_DISPLAY_NAME)
            attachments.append(named or "without a name")
    date_text = words(headers["Date"])
    return Message(
        subject=item.text(c.PID_SUBJECT, c.PID_NORMALIZED_SUBJECT),
        sender=_sender(item) or words(headers["From"]),
        to=_people(recipients, _TO) or item.text(c.PID_DISPLAY_TO),
        copied=_people(recipients, _COPIED) or item.text(c.PID_DISPLAY_CC),
        blind=_people(recipients, _BLIND) or item.text(c.PID_DISPLAY_BCC),
        date=item.date(c.PID_CLIENT_SUBMIT_TIME, c.PID_MESSAGE_DELIVERY_TIME) or date_of(date_text),
        date_text=date_text,
        body=_body(item),
        attachments=attachments,
        forwarded=forwarded,
    )


def _sender(item: _Item) -> str:
    shown = (person(item.text(name), item.address(*addresses)) for name, *addresses in _SENDERS)
    return next(filter(None, shown), "")


def _people(recipients: list[_Item], kind: int) -> str:
    shown = (
        person(recipient.text(c.PID_DISPLAY_NAME), recipient.address(c.PID_SMTP_ADDRESS, c.PID_EMAIL_ADDRESS))
        for recipient in recipients
        if (recipient.number(c.PID_RECIPIENT_TYPE) or _TO) == kind
    )
    return ", ".join(filter(None, shown))


def _body(item: _Item) -> list[Text]:
    """The text, unless that is a stub beside the HTML; RTF where there is neither."""
    plain = item.long_text(c.PID_BODY)
    raw = item.binary(c.PID_HTML)
    html = (decoded(raw, item.encoding(c.PID_INTERNET_CODEPAGE)) or "") if raw else item.long_text(c.PID_BODY_HTML)
    body = better([Text(words=plain)], [page(html)] if html else [])
    if any(text.words.strip() for text in body):
        return list(body)
    return [Text(words=_rich_text(item.binary(c.PID_RTF_COMPRESSED)))]


def _rich_text(compressed: bytes) -> str:
    try:
        return parse_rtf(name="", content=decompressed(compressed, most=MAX_CHARACTERS)).text
    except ValueError:
        return ""
    except UnableToParse as error:
        if error.code == "too_large":
            raise
        return ""
