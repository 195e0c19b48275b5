"""Mail as a person reads it: subject, sender, recipients, date, the words; attachments by name."""

from __future__ import annotations

import binascii
import codecs
import email
import email.policy
import email.utils
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message as Part

from ingest_app.parsing.decoding import clean, decode
from ingest_app.parsing.document import MAX_CHARACTERS, ParsedDocument, check_extent, one_line
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.html_text import VisibleText
from ingest_app.parsing.media_types import EML
from ingest_app.parsing.writing import DocumentWriter

#: Forwarded messages within forwarded messages are read so deep.
MAX_DEPTH = 5
MAX_PARTS = 10_000
_MAX_NESTING = 100
# Each part starts with one; lines of dashes in texts are far fewer.
_BOUNDARY = b"\n--"
#: A text so much shorter than the HTML beside it only says that one should look at that.
_STUB_SHARE = 0.2
# Longer lists of recipients are shown as they were written.
_MAX_ADDRESSES = 50_000
_MAX_HEADER = 1_000_000
_MAX_PARAMETERS = 20_000
_HEADING = re.compile(r"^(#{1,6}) (\S.*)$", re.M)
_ENCODED_WORD = re.compile(r"=\?([^?*\s]+)(?:\*[^?\s]*)?\?([bBqQ])\?([^?]*)\?=")
_ENCODED_WORDS = re.compile(rf"(?:{_ENCODED_WORD.pattern})+")
_BETWEEN_ENCODED = re.compile(r"(?<=\?=)\s+(?==\?[^?\s]+\?[bBqQ]\?[^?]*\?=)")
_TEXTUAL = {"text", "multipart"}
# What mail programs show as text. A calendar's entry stands beside a text that says the same for people.
_TEXTS = {"plain", "enriched", "markdown", "richtext", "rfc822-headers", "x-markdown"}
_SIGNATURES = {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
# As mail programs do: what is declared as the left is read as the right, of which it is a part.
_WIDER = {
    "ascii": "utf-8",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso-8859-8-i": "iso8859-8",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "tis-620": "cp874",
    "windows-874": "cp874",
}
# Declared by programs that write UTF-8 all the same; what they write is hardly UTF-8 by accident.
_WESTERN = {"cp1252", "cp1254", "iso8859-15"}
# No charsets, or ones whose decoders take their time.
_NO_CHARSETS = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "unicode_escape"}


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text in a message; of HTML only what is visible, with Markdown's marks."""

    words: str
    is_html: bool = False


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message, whichever program wrote it. `body` is what a mail program shows below the headers."""

    subject: str
    sender: str
    to: str = ""
    copied: str = ""
    blind: str = ""
    date: datetime | None = None
    #: As it was written; shown where it is no date.
    date_text: str = ""
    body: Sequence[Text] = ()
    attachments: Sequence[str] = ()
    forwarded: Sequence[Message] = ()


class _Lenient(email.policy.Compat32):
    """The old policy: the new one raises for headers that break a rule, and hostile mail breaks all of them.

    Characters outside ASCII that nobody encoded are read for what they probably are.
    """

    def header_fetch_parse(self, name: str, value: str) -> str:
        value = value[: _MAX_PARAMETERS if name.lower().startswith("content-") else _MAX_HEADER]
        return value if value.isascii() else decode(value.encode("utf-8", "surrogateescape")) or ""


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from a message in the internet's format. The title: its subject."""
    if content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = (decode(content) or "").encode()
    if content.count(_BOUNDARY) > 10 * MAX_PARTS:
        raise _too_many_parts()
    try:
        part = email.message_from_bytes(content.lstrip(), policy=_Lenient())
        message = _message(part, depth=0) if part.keys() else None
    except (UnableToParse, MemoryError, RecursionError):
        raise
    except Exception as error:  # whatever broken headers make the standard library raise
        raise UnableToParse(
            "The mail is damaged: save it again in its program and upload that.", "corrupt_file"
        ) from error
    if message is None:
        raise UnableToParse("The file holds no mail: export it again and upload that.", "corrupt_file")
    return document_of(message, name=name, media_type=EML)


def _too_many_parts() -> UnableToParse:
    return UnableToParse(f"The mail has more than {MAX_PARTS:,} parts: upload its text.", "too_large")


def document_of(message: Message, *, name: str, media_type: str) -> ParsedDocument:
    """What people read of a message, with what they filter by as properties."""
    writer = DocumentWriter()
    _write(writer, message, level=1)
    return writer.document(
        media_type=media_type,
        name=name,
        titles=[message.subject],
        properties={
            "subject": message.subject,
            "sender": message.sender,
            "recipients": ", ".join(filter(None, (message.to, message.copied, message.blind))),
            "date": message.date.isoformat() if message.date else None,
        },
    )


def words(value: str | None) -> str:
    """A header's value on one line, its encoded words decoded; what cannot be is left as it is."""
    joined = _BETWEEN_ENCODED.sub("", value or "")
    return " ".join(clean(_ENCODED_WORDS.sub(_unencoded, joined)).split())


def _unencoded(run: re.Match[str]) -> str:
    """Encoded words without a gap; a character may start in one and end in the next."""
    pieces: list[tuple[str, bytes]] = []
    for charset, encoding, encoded in _ENCODED_WORD.findall(run[0]):
        raw = encoded.encode("utf-8", "replace")
        try:
            raw = binascii.a2b_base64(raw + b"==") if encoding in "bB" else binascii.a2b_qp(raw, header=True)
        except binascii.Error:
            return run[0]
        if pieces and pieces[-1][0] == charset:
            raw = pieces.pop()[1] + raw
        pieces.append((charset, raw))
    return "".join(decoded(raw, charset) or "" for charset, raw in pieces)


def decoded(content: bytes, charset: str) -> str | None:
    """Text in the charset it declares if that holds, else in what it looks like. None for what is no text."""
    try:
        declared = codecs.lookup(_WIDER.get(charset.lower(), charset)).name
    except (LookupError, ValueError):
        declared = ""
    declared = _WIDER.get(declared, declared)
    if declared.startswith(("utf-16", "utf-32")):
        return clean(content.decode(declared, "replace"))
    if declared in _WESTERN and _is_utf8(content):
        declared = "utf-8"
    return decode(content, declared=declared if declared not in _NO_CHARSETS else None)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def page(html: str) -> Text:
    """What is visible of HTML."""
    if len(html) > MAX_CHARACTERS:
        check_extent(html)
    reader = VisibleText()
    reader.feed(html)
    reader.close()
    return Text(words=reader.text, is_html=True)


def better(plain: Sequence[Text], rich: Sequence[Text]) -> Sequence[Text]:
    """The plain form of a message, unless that only says to look at the other."""
    counts = [sum(len(text.words.split()) for text in texts) for texts in (plain, rich)]
    return plain if counts[0] and counts[0] >= _STUB_SHARE * counts[1] else rich


def person(name: str, address: str) -> str:
    """`Ada Lovelace <ada@example.com>`, or what there is of it."""
    return f"{name} <{address}>" if name and address and address not in name else name or address


def date_of(header: str) -> datetime | None:
    """The date in a header; where it does not say which zone it means, that of Greenwich."""
    try:
        date = email.utils.parsedate_to_datetime(header)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _write(writer: DocumentWriter, message: Message, *, level: int) -> None:
    writer.heading(message.subject or "Message without subject", level=level)
    lines = {
        "From": message.sender,
        "To": message.to,
        "Cc": message.copied,
        "Bcc": message.blind,
        "Date": f"{message.date:%A, %d %B %Y, %H:%M %z}" if message.date else message.date_text,
    }
    writer.block("\n".join(f"{key}: {value}" for key, value in lines.items() if value))
    for text in message.body:
        _write_text(writer, text, level=level)
    if message.attachments:
        writer.block("Attachments: " + ", ".join(one_line(name) for name in message.attachments))
    for forwarded in message.forwarded:
        _write(writer, forwarded, level=level + 1)


def _write_text(writer: DocumentWriter, text: Text, *, level: int) -> None:
    before, *parts = _HEADING.split(text.words) if text.is_html else [text.words]
    writer.block(before)
    for marks, heading, below in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        writer.heading(heading, level=level + len(marks))
        writer.block(below)


def _message(part: Part, *, depth: int) -> Message:
    reader = _Reader(depth=depth)
    body = [text for text in reader.texts(part, is_root=True) if text.words.strip()]
    if reader.is_encrypted and not body and depth == 0:
        raise UnableToParse(
            "The mail is encrypted: open it in its program, save its text and upload that.", "encrypted"
        )
    date_text = words(part["Date"])
    return Message(
        subject=words(part["Subject"]),
        sender=_people(part, "From"),
        to=_people(part, "To"),
        copied=_people(part, "Cc"),
        blind=_people(part, "Bcc"),
        date=date_of(date_text),
        date_text=date_text,
        body=body,
        attachments=list(dict.fromkeys(reader.attachments)),
        forwarded=reader.forwarded,
    )


class _Reader:
    """Goes through the parts of one message as a mail program does; what is no text is put aside."""

    def __init__(self, *, depth: int) -> None:
        self.attachments: list[str] = []
        self.forwarded: list[Message] = []
        self.is_encrypted = False
        self._depth = depth
        self._parts = 0

    def texts(self, part: Part, *, nesting: int = 0, is_root: bool = False, is_inline: bool = False) -> Sequence[Text]:
        """The texts in a part. An inline part is shown within the text beside it, such as a picture."""
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise _too_many_parts()
        kind, inner = part.get_content_type(), _within(part)
        if not inner:
            return self._leaf(part, kind, is_root=is_root, is_inline=is_inline)
        if kind == "message/rfc822":
            self._forward(inner[0])
            return []
        if kind == "message/delivery-status":
            return [Text(words="\n".join(f"{key}: {words(value)}" for found in inner for key, value in found.items()))]
        if nesting > _MAX_NESTING:
            return []
        self.is_encrypted = self.is_encrypted or kind == "multipart/encrypted"
        is_related = kind == "multipart/related"
        forms = [
            self.texts(found, nesting=nesting + 1, is_inline=is_related and bool(found["Content-ID"]))
            for found in inner
        ]
        if kind != "multipart/alternative":
            return [text for form in forms for text in form]
        # The same said in several ways, the best of them last.
        plain = next((form for form in forms if form and not any(text.is_html for text in form)), ())
        rich = next((form for form in reversed(forms) if any(text.is_html for text in form)), ())
        return better(plain, rich)

    def _forward(self, inner: Part) -> None:
        if self._depth < MAX_DEPTH:
            self.forwarded.append(_message(inner, depth=self._depth + 1))
        else:
            self.attachments.append(words(inner["Subject"]) or "Message without subject")

    def _leaf(self, part: Part, kind: str, *, is_root: bool, is_inline: bool) -> Sequence[Text]:
        main, _, sub = kind.partition("/")
        disposition, name = part.get_content_disposition(), words(part.get_filename())
        if kind == "application/pkcs7-mime" and part.get_param("smime-type") == "enveloped-data":
            self.is_encrypted = True
        elif disposition == "attachment" or (name and not is_root and not is_inline) or main not in _TEXTUAL:
            if kind not in _SIGNATURES and (disposition == "attachment" or not is_inline):
                self.attachments.append(name or "without a name")
        elif sub == "html":
            return [page(_text(part))]
        elif sub in _TEXTS or main == "multipart" or is_root:
            return [Text(words=_text(part))]
        return []


def _within(part: Part) -> list[Part]:
    inner = part.get_payload()
    return [found for found in inner if isinstance(found, Part)] if isinstance(inner, list) else []


def _text(part: Part) -> str:
    """What a part says. Where the encoding of its transfer was a lie, what was sent is what is shown."""
    charset, sent = part.get_content_charset() or "", part.get_payload()
    received = part.get_payload(decode=True)
    text = decoded(received, charset) if isinstance(received, bytes) else None
    if text is None and isinstance(sent, str):
        text = decoded(sent.encode("utf-8", "surrogateescape"), charset)
    return text or ""


def _people(part: Part, header: str) -> str:
    values = [str(value) for value in part.get_all(header, [])]
    written = ", ".join(values)
    try:
        found = email.utils.getaddresses(values) if len(written) <= _MAX_ADDRESSES else []
    except RecursionError:
        found = []
    if not found or any("@" not in address for _, address in found):
        return words(written)
    return ", ".join(person(words(name), words(address)) for name, address in found)
