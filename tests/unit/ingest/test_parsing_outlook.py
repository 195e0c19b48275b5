"""Messages that Outlook saved are read as other mail is, whichever version wrote them."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_app.parsing import ParsedDocument, UnableToParse, parse
from ingest_app.parsing.compressed_rtf import decompressed
from ingest_app.parsing.mail import MAX_DEPTH
from tests.unit.ingest import outlook_files


@pytest.mark.parametrize("rest", [b"", b"\0" * 600, "__properties_version1.0".encode("utf-16-le") + b"\1" * 2000])
def test_a_broken_message_of_outlook_says_so(rest: bytes) -> None:
    content = bytes.fromhex("d0cf11e0a1b11ae1") + rest + "__properties_version1.0".encode("utf-16-le")
    with pytest.raises(UnableToParse) as caught:
        parse(name="a.msg", content=content)
    assert caught.value.code == "corrupt_file"


SUBJECT, BODY, HTML, RTF, HEADERS, SUBMITTED = 0x37, 0x1000, 0x1013, 0x1009, 0x7D, 0x39
SENDER, SENDER_SMTP, SENDER_ADDRESS, FOR_NAME, FOR_ADDRESS = 0x0C1A, 0x5D01, 0x0C1F, 0x42, 0x65
NAME, ADDRESS, SMTP, KIND, FILE_NAME, HIDDEN = 0x3001, 0x3003, 0x39FE, 0x0C15, 0x3707, 0x7FFE
CODE_PAGE, BODY_CODE_PAGE = 0x3FFD, 0x3FDE


def outlook(properties: dict[int, Any], **more: Any) -> ParsedDocument:
    return parse(name="a.msg", content=outlook_files.compound_file(outlook_files.message(properties, **more)))


def test_a_message_of_outlook_reads_as_other_mail() -> None:
    found = outlook(
        {
            SUBJECT: "Tea on Friday ☃",
            SENDER: "Secretary",
            SENDER_ADDRESS: "s@example.com",
            FOR_NAME: "Ada",
            FOR_ADDRESS: "ada@example.com",
            SUBMITTED: datetime(2022, 12, 16, 22, 4, tzinfo=UTC),
            BODY: "Shall we?\r\n\r\nAda\r\n",
        },
        recipients=[
            {NAME: "Bob", ADDRESS: "/O=EXCHANGE/CN=BOB", KIND: 1},
            {NAME: "c@example.com", SMTP: "c@example.com", KIND: 1},
            {NAME: "Dee", ADDRESS: "dee@example.com", KIND: 2},
            {NAME: "Eve", KIND: 3},
        ],
        attachments=[
            {FILE_NAME: "menü.pdf", 0x3701: b"%PDF-" * 2000},
            {FILE_NAME: "logo.png", HIDDEN: True},
            {NAME: "x"},
        ],
        forwarded=[outlook_files.message({SUBJECT: "Inner", BODY: "inner words"}, is_inner=True)],
    )
    assert found.text == (
        "# Tea on Friday ☃\n\nFrom: Ada <ada@example.com>\nTo: Bob, c@example.com\nCc: Dee <dee@example.com>\n"
        "Bcc: Eve\nDate: Friday, 16 December 2022, 22:04 +0000\n\nShall we?\n\nAda\n\nAttachments: menü.pdf, x\n\n"
        "## Inner\n\ninner words"
    )
    assert (found.title, found.media_type) == ("Tea on Friday ☃", "application/vnd.ms-outlook")
    assert found.properties == {
        "subject": "Tea on Friday ☃",
        "sender": "Ada <ada@example.com>",
        "recipients": "Bob, c@example.com, Dee <dee@example.com>, Eve",
        "date": "2022-12-16T22:04:00+00:00",
    }


@pytest.mark.parametrize(("number", "code_page"), [(1251, "cp1251"), (932, "cp932"), (999_999, "cp1251")])
def test_messages_of_old_outlook_are_in_a_code_page(number: int, code_page: str) -> None:
    words = "Привет, мир. Все люди рождаются свободными."  # noqa: RUF001
    found = outlook({SUBJECT: words, BODY: words, CODE_PAGE: number, BODY_CODE_PAGE: 65001}, code_page=code_page)
    assert (found.title, found.text) == (words, f"# {words}\n\n{words}")


@pytest.mark.parametrize(
    "properties",
    [
        {HTML: "<p>Grüße <b>there</b></p>".encode("cp1252"), BODY_CODE_PAGE: 1252},
        {HTML: "<p>Grüße <b>there</b></p>".encode(), BODY_CODE_PAGE: 1252, BODY: " \r\n"},
        {HTML: "<p>Grüße <b>there</b></p>"},
        {
            RTF: struct.pack("<4I", 64, 52, 0x414C454D, 0)
            + b"{\\rtf1\\ansi\\ansicpg1252 Gr\\'fc\\'dfe {\\b there}\\par}"
        },
    ],
    ids=["bytes", "lie", "string", "rtf"],
)
def test_other_bodies_stand_in_for_the_text(properties: dict[int, Any]) -> None:
    assert outlook({SUBJECT: "s", **properties}).text == "# s\n\nGrüße there"


def test_compressed_rtf_is_unpacked() -> None:
    # The example of [MS-OXRTFCP] 3.1.
    packed = "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    assert decompressed(bytes.fromhex(packed), most=1000) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert decompressed(bytes.fromhex(packed), most=5) == b"{\\rtf"
    for length in range(16, len(packed) // 2):
        assert decompressed(bytes.fromhex(packed)[:length], most=1000).startswith(b"{\\rtf"[: max(0, length - 18)])
    with pytest.raises(ValueError, match="RTF"):
        decompressed(b"x" * 40, most=1000)


def test_a_missing_date_is_that_of_the_headers() -> None:
    found = outlook({SUBJECT: "s", HEADERS: "From: Ada <a@b>\r\nDate: Fri, 16 Dec 2022 17:04:16 -0500\r\n\r\n"})
    assert found.properties["date"] == "2022-12-16T17:04:16-05:00"
    assert found.properties["sender"] == "Ada <a@b>"


def test_messages_within_messages_are_bounded() -> None:
    folder = outlook_files.message({SUBJECT: "0", BODY: "words"}, is_inner=True)
    for level in range(1, MAX_DEPTH + 2):
        folder = outlook_files.message({SUBJECT: str(level)}, forwarded=[folder], is_inner=level <= MAX_DEPTH)
    found = parse(name="a.msg", content=outlook_files.compound_file(folder))
    assert len(found.headings) == MAX_DEPTH + 1
    assert found.text.endswith("Attachments: 0")


def test_streams_that_hold_more_than_the_file_are_refused() -> None:
    large = outlook_files.message({SUBJECT: "s", BODY: "x" * 10_000}, attachments=[{0x3701: b"y" * 5000}])
    content = outlook_files.compound_file(large)
    lying = content.replace(struct.pack("<Q", 5000), struct.pack("<Q", 5_000_000))
    with pytest.raises(UnableToParse) as caught:
        parse(name="a.msg", content=lying)
    assert caught.value.code == "too_large"


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_message_of_outlook_that_was_cut_off_is_refused(share: float) -> None:
    content = outlook_files.compound_file(outlook_files.message({SUBJECT: "s", BODY: "x" * 10_000}))
    with pytest.raises(UnableToParse) as caught:
        parse(
            name="a.msg", content=content[: int(len(content) * share)] + "__properties_version1.0".encode("utf-16-le")
        )
    assert caught.value.code == "corrupt_file"


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=40))
def test_damage_anywhere_breaks_no_parser(place: int, noise: bytes) -> None:
    content = outlook_files.compound_file(
        outlook_files.message({SUBJECT: "s", BODY: "words"}, recipients=[{NAME: "a"}], attachments=[{FILE_NAME: "b"}])
    )
    place %= len(content)
    try:
        found = parse(name="a.msg", content=content[:place] + noise + content[place + len(noise) :])
    except UnableToParse:
        return
    found.text.encode()
