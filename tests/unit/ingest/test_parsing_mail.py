"""Mail is read as a mail program shows it; what breaks the rules breaks no parser."""

from __future__ import annotations

import base64
import contextlib
import time
from email.message import EmailMessage

import pytest

from ingest_app.parsing import ParsedDocument, UnableToParse, parse, sniff
from ingest_app.parsing.mail import MAX_DEPTH, MAX_PARTS


def message(**headers: str) -> EmailMessage:
    made = EmailMessage()
    defaults = {
        "Subject": "Tea on Friday",
        "From": "Ada <ada@example.com>",
        "To": "Bob <bob@example.com>, c@example.com",
    }
    for key, value in {**defaults, "Date": "Fri, 16 Dec 2022 17:04:16 -0500", **headers}.items():
        made[key] = value
    return made


def read(made: EmailMessage | bytes, name: str = "tea.eml") -> ParsedDocument:
    return parse(name=name, content=made if isinstance(made, bytes) else made.as_bytes())


def test_it_reads_as_a_mail_program_shows_it() -> None:
    made = message(Cc="Dee <dee@example.com>")
    made.set_content("Shall we?\n\nAda\n")
    made.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="menü.pdf")
    found = read(made)
    assert found.text == (
        "# Tea on Friday\n\nFrom: Ada <ada@example.com>\nTo: Bob <bob@example.com>, c@example.com\n"
        "Cc: Dee <dee@example.com>\nDate: Friday, 16 December 2022, 17:04 -0500\n\nShall we?\n\nAda\n\n"
        "Attachments: menü.pdf"
    )
    assert (found.title, found.media_type) == ("Tea on Friday", "message/rfc822")
    assert found.properties == {
        "subject": "Tea on Friday",
        "sender": "Ada <ada@example.com>",
        "recipients": "Bob <bob@example.com>, c@example.com, Dee <dee@example.com>",
        "date": "2022-12-16T17:04:16-05:00",
    }


def test_encoded_words_and_charsets_are_decoded() -> None:
    raw = (
        b"Subject: =?utf-8?B?w5xiZXIgVGVl?= =?iso-8859-1?Q?_f=FCr_alle?=\nFrom: =?utf-8?q?J=C3=B6rg?= <j@example.com>\n"
        b"MIME-Version: 1.0\nContent-Type: text/plain; charset=cp1252\nContent-Transfer-Encoding: quoted-printable\n\n"
        b"Gr=FC=DFe =80 5\n"
    )
    found = read(raw)
    assert (found.title, found.properties["sender"]) == ("Über Tee für alle", "Jörg <j@example.com>")
    assert found.text.endswith("Grüße € 5")


def test_html_is_read_where_there_is_nothing_else() -> None:
    made = message()
    made.set_content("<p>Hello <b>there</b></p><script>alert(1)</script><ul><li>one</li></ul>", subtype="html")
    assert read(made).text.endswith("Hello there\n\n- one")


@pytest.mark.parametrize(
    ("plain", "shown"), [("See the HTML.", "word word"), ("All of the words are here. " * 9, "All of")]
)
def test_a_stub_of_plain_text_gives_way_to_the_html_beside_it(plain: str, shown: str) -> None:
    made = message()
    made.set_content(plain)
    made.add_alternative("<p>" + "word " * 40 + "</p>", subtype="html")
    body = read(made).text.partition("-0500\n\n")[2]
    assert body.startswith(shown)


def test_forwarded_messages_stand_below() -> None:
    inner = message(Subject="The inner one")
    inner.set_content("inner words")
    outer = message(Subject="The outer one")
    outer.set_content("outer words")
    outer.add_attachment(inner)
    found = read(outer)
    assert [(heading.level, heading.text) for heading in found.headings] == [(1, "The outer one"), (2, "The inner one")]
    assert found.text.index("outer words") < found.text.index("inner words")


def test_what_is_forwarded_too_deeply_is_named() -> None:
    made = message(Subject="0")
    made.set_content("words")
    for level in range(1, MAX_DEPTH + 2):
        outer = message(Subject=str(level))
        outer.add_attachment(made)
        made = outer
    assert read(made).text.endswith("Attachments: 0")


def test_nesting_is_bounded() -> None:
    made = message(Subject="0")
    made.set_content("words")
    for level in range(1, 12):
        outer = message(Subject=str(level))
        outer.add_attachment(made)
        made = outer
    assert len(read(made).headings) == MAX_DEPTH + 1
    boundary = "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(60))
    assert read(f"Subject: deep\nMIME-Version: 1.0\n{boundary}words".encode()).title == "deep"


@pytest.mark.parametrize(
    "headers",
    [
        b"Date: not a date\n",
        b"Date: Fri, 99 Dec 99999 99:99:99 +9999\n",
        b"Content-Type: text/plain; charset=no-such-charset\n",
        b"Content-Type: multipart/mixed\n",
        b"Content-Transfer-Encoding: base64\nContent-Type: text/plain\n",
        b"Subject: =?utf-8?B?!!!?=\n",
        b"Subject: =?no-such?Q?x?=\n",
        b"From: \xff\xfe\x00<>\n",
        b"Received: " + b"x" * 100_000 + b"\n",
    ],
)
def test_headers_that_break_the_rules_break_nothing(headers: bytes) -> None:
    found = read(b"MIME-Version: 1.0\n" + headers + b"\nsome words \x00 here")
    assert found.text
    found.text.encode()


def test_a_message_is_known_by_its_headers() -> None:
    content = b"Received: from a by b\nSubject: x\nMIME-Version: 1.0\n\nwords"
    assert sniff(name="message", content=content) == "message/rfc822"
    assert sniff(name="notes", content=b"From: here\nTo: there\n\nwords") == "text/plain"


def test_what_is_no_mail_says_so() -> None:
    with pytest.raises(UnableToParse) as caught:
        read(b"\n\njust words")
    assert caught.value.code == "corrupt_file"


def body_of(found: ParsedDocument) -> str:
    return found.text.partition("-0500\n\n")[2]


def multipart(kind: str, *parts: bytes, headers: bytes = b"") -> bytes:
    joined = b"".join(b"--" + kind.encode() + b"\n" + part + b"\n" for part in parts)
    return b"Content-Type: multipart/%b; boundary=%b\n%b\n%b--%b--\n" % (
        kind.encode(),
        kind.encode(),
        headers,
        joined,
        kind.encode(),
    )


TOP = b"MIME-Version: 1.0\nDate: Fri, 16 Dec 2022 17:04:16 -0500\nSubject: s\n"
PLAIN = b"Content-Type: text/plain; charset=utf-8\n\nThe plain words are these.\n"
PAGE = b"Content-Type: text/html; charset=utf-8\n\n<p>The page&apos;s words are these.</p>\n"
CALENDAR = b"Content-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR\n"
PDF = b"Content-Type: application/pdf; name=a.pdf\nContent-Disposition: attachment\n\n%PDF-\n"
PICTURE = b"Content-Type: image/png; name=p.png\nContent-ID: <p>\nContent-Disposition: inline\n\nx\n"
SIGNATURE = b"Content-Type: application/pgp-signature; name=signature.asc\n\nx\n"


@pytest.mark.parametrize(
    ("content", "body"),
    [
        (
            multipart("mixed", PLAIN, PDF, PAGE),
            "The plain words are these.\n\nThe page's words are these.\n\nAttachments: a.pdf",
        ),
        (multipart("alternative", PLAIN, PAGE, CALENDAR), "The plain words are these."),
        (multipart("alternative", CALENDAR, PAGE), "The page's words are these."),
        (
            multipart("alternative", PLAIN, multipart("mixed", PAGE, PDF)),
            "The plain words are these.\n\nAttachments: a.pdf",
        ),
        (multipart("related", PAGE, PICTURE), "The page's words are these."),
        (multipart("mixed", PAGE, PICTURE), "The page's words are these.\n\nAttachments: p.png"),
        (multipart("signed", PLAIN, SIGNATURE), "The plain words are these."),
        (
            multipart("mixed", multipart("alternative", PLAIN, PAGE), PLAIN),
            "The plain words are these.\n\nThe plain words are these.",
        ),
        (b"Content-Type: text/plain; name=note.txt\n\nonly words", "only words"),
        (b"Content-Type: multipart/mixed\n\nno boundary, yet words", "no boundary, yet words"),
    ],
    ids=[
        "mixed",
        "invitation",
        "no plain",
        "attached to the page",
        "related",
        "picture",
        "signed",
        "footer",
        "named",
        "none",
    ],
)
def test_parts_are_shown_as_mail_programs_do(content: bytes, body: str) -> None:
    assert body_of(read(TOP + content)) == body


def test_attached_texts_are_named_and_not_read() -> None:
    made = message()
    made.set_content("body words")
    made.add_attachment("attached words", filename="ä notes.txt")
    made.add_attachment("<p>attached page", subtype="html", filename="b.html")
    made.add_attachment(b"x", maintype="image", subtype="png")
    assert body_of(read(made)) == "body words\n\nAttachments: ä notes.txt, b.html, without a name"


def test_html_headings_are_sections() -> None:
    made = message()
    made.set_content("<p>Intro</p><h1>News</h1><p>Words</p><h2>More</h2>", subtype="html")
    found = read(made)
    assert [(heading.level, heading.text) for heading in found.headings][1:] == [
        (2, "News"),
        (3, "More"),
    ]
    plain = message()
    plain.set_content("# no heading\n\nBest\n-- \nAda")
    assert len(read(plain).headings) == 1


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Subject: Grüße ☃\n".encode(), "Grüße ☃"),
        ("Subject: Grüße aus Köln\n".encode("cp1252"), "Grüße aus Köln"),
        (b"Subject: =?utf-8?B?4pg=?=\n =?utf-8?B?gyBtYW4=?=\n", "☃ man"),
        (b"Subject: =?iso-2022-jp?B?GyRCRnxLXBsoQg==?= a\n", "日本 a"),
        (b"Subject: =?utf-8*en?q?a_b?= and =?us-ascii?Q?c=3F?=\n", "a b and c?"),
        (b"Subject: =?iso-8859-1?Q?Gr=C3=BC=C3=9Fe?=\n", "Grüße"),
        (b"Subject: =?utf-8?B?a?= =?broken\n", "=?utf-8?B?a?= =?broken"),
        (b"Subject: a\n\tb\n", "a b"),
    ],
)
def test_subjects_are_read_however_they_are_written(written: bytes, shown: str) -> None:
    assert read(b"From: a@b\n" + written + b"\nwords").properties["subject"] == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b'"Doe, John" <j@x.org>, =?utf-8?q?B=C3=BC?= <b@x.org>', "Doe, John <j@x.org>, Bü <b@x.org>"),
        (b"j@x.org (John)", "John <j@x.org>"),
        (b"undisclosed-recipients:;", "undisclosed-recipients:;"),
        (b"no address at all", "no address at all"),
        ("Jörg <j@x.org>".encode(), "Jörg <j@x.org>"),
        (b'"j@x.org" <j@x.org>', "j@x.org"),
        (b"(" * 5000, "(" * 199 + "…"),
    ],
)
def test_people_are_shown_by_name_and_address(written: bytes, shown: str) -> None:
    assert read(b"Subject: s\nTo: " + written + b"\n\nwords").properties["recipients"] == shown


@pytest.mark.parametrize(
    ("charset", "content"),
    [
        ("iso-8859-1", "Grüße aus Köln: schöne Äpfel kosten fünf Gulden ☃".encode()),
        ("utf-8", "Grüße aus Köln: schöne Äpfel kosten fünf Gulden".encode("cp1252")),
        ("us-ascii", "Grüße aus Köln: schöne Äpfel kosten fünf Gulden".encode("cp1252")),
        ("no-such-charset", "Grüße aus Köln: schöne Äpfel kosten fünf Gulden ☃".encode()),
        ('"utf-8"; x="', "Grüße aus Köln: schöne Äpfel kosten fünf Gulden ☃".encode()),
        ("idna", "Grüße aus Köln: schöne Äpfel kosten fünf Gulden ☃".encode()),
        ("gb2312", "镕基 zhu".encode("gb18030")),
        ("iso-2022-jp", "日本語のメール".encode("iso-2022-jp")),
        ("utf-16-le", "Grüße ☃".encode("utf-16-le")),
    ],
)
def test_charsets_may_lie(charset: str, content: bytes) -> None:
    encoded = base64.b64encode(content)
    raw = TOP + f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\n".encode() + encoded
    words = body_of(read(raw))
    expected = {"gb2312": "镕基 zhu", "iso-2022-jp": "日本語のメール", "utf-16-le": "Grüße ☃"}.get(charset)
    assert words == expected or (
        expected is None and words.startswith("Grüße aus Köln: schöne Äpfel kosten fünf Gulden")
    )


def test_transfers_may_lie() -> None:
    raw = (
        TOP
        + b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\nNot encoded, but written, all the same.\n"
    )
    assert body_of(read(raw)) == "Not encoded, but written, all the same."


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marked_files_are_mail_too(encoding: str) -> None:
    content = "Subject: Grüße\nFrom: a@b\nContent-Type: text/plain; charset=utf-8\n\nÄpfel".encode(encoding)
    found = read(content)
    assert (found.title, found.text.split("\n")[-1]) == ("Grüße", "Äpfel")


@pytest.mark.parametrize(
    ("written", "shown", "iso"),
    [
        (b"Fri, 16 Dec 2022 17:04:16 -0000", "Friday, 16 December 2022, 17:04 +0000", "2022-12-16T17:04:16+00:00"),
        (b"16 Dec 22 17:04 GMT", "Friday, 16 December 2022, 17:04 +0000", "2022-12-16T17:04:00+00:00"),
        (b"yesterday at noon", "yesterday at noon", None),
        (b"Fri, 31 Feb 2022 17:04:16 +0100", "Fri, 31 Feb 2022 17:04:16 +0100", None),
        (b"1 Jan " + b"9" * 30 + b" 10:00:00", "1 Jan " + "9" * 30 + " 10:00:00", None),
    ],
)
def test_dates_are_shown_and_kept_where_they_are_dates(written: bytes, shown: str, iso: str | None) -> None:
    found = read(b"Subject: s\nDate: " + written + b"\n\nwords")
    assert f"Date: {shown}\n" in found.text
    assert found.properties.get("date") == iso


def test_a_report_of_delivery_shows_what_was_wrong() -> None:
    status = b"Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\nFinal-Recipient: a@b\nStatus: 5.1.1\n"
    returned = b"Content-Type: message/rfc822\n\nSubject: the original\n\nits words\n"
    found = read(TOP + multipart("report", PLAIN, status, returned))
    assert "Final-Recipient: a@b\nStatus: 5.1.1" in found.text
    assert found.text.endswith("## the original\n\nits words")


@pytest.mark.parametrize(
    "content",
    [
        multipart(
            "encrypted",
            b"Content-Type: application/pgp-encrypted\n\nVersion: 1\n",
            b"Content-Type: application/octet-stream; name=e.asc\n\nx\n",
        ),
        b"Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n\nMIAG\n",
    ],
)
def test_an_encrypted_mail_says_so(content: bytes) -> None:
    with pytest.raises(UnableToParse) as caught:
        read(TOP + content)
    assert caught.value.code == "encrypted"


def test_an_encrypted_mail_within_another_leaves_that_readable() -> None:
    secret = b"Subject: secret\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data\n\nx"
    inner = b"Content-Type: message/rfc822\n\n" + secret
    found = read(TOP + multipart("mixed", PLAIN, inner))
    assert body_of(found) == "The plain words are these.\n\n## secret"


def test_mail_without_subject_or_words_is_still_its_headers() -> None:
    found = read(b"From: a@b\nDate: Fri, 16 Dec 2022 17:04:16 -0500\n\n")
    assert found.title == "tea"
    assert found.text == "# Message without subject\n\nFrom: a@b\nDate: Friday, 16 December 2022, 17:04 -0500"
    assert "subject" not in found.properties


@pytest.mark.parametrize(
    "content",
    [
        b"Subject: s\n\n" + b"x" * 3_000_000,
        b"Subject: " + b"=?utf-8?q?" * 200_000 + b"\n\nx",
        b"To: " + b"a@b," * 200_000 + b"\n\nx",
        b"Subject: s\nContent-Type: text/html\n\nx" + b"<!--" * 200_000,
        b"Subject: s\nContent-Type: text/html\n\nx" + b"<div>" * 200_000,
        b"Subject: s\n" + b"X: y\n" * 100_000 + b"\nx",
        b"Subject: s\nContent-Disposition: attachment" + b"; filename*0*=a" * 20_000 + b"\n\nx",
    ],
    ids=["long", "encoded", "people", "comments", "depth", "headers", "parameters"],
)
def test_hostile_mail_takes_little_time(content: bytes) -> None:
    started = time.monotonic()
    with contextlib.suppress(UnableToParse):
        assert read(content).text
    assert time.monotonic() - started < 15


def test_more_parts_than_mail_has_are_refused() -> None:
    with pytest.raises(UnableToParse) as caught:
        read(TOP + multipart("mixed", *[b"Content-Type: text/plain\n\nx\n"] * (MAX_PARTS + 1)))
    assert caught.value.code == "too_large"


def test_parts_nested_without_end_are_refused_or_read() -> None:
    content = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(3000))
    with contextlib.suppress(RecursionError):  # the parser process says what to do
        assert read(TOP + content + b"words").title == "s"
