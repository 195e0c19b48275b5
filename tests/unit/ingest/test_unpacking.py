"""Archives are taken apart into files with safe names, within bounds, and no bad one stops the others."""

from __future__ import annotations

import io
import stat
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_app.parsing import UnableToParse
from ingest_app.parsing.unpacking import MAX_MEMBERS, MAX_NAME, Member, members, safe_name

MOST = 1_000_000


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return stream.getvalue()


def unpacked(content: bytes, most: int = MOST) -> list[Member]:
    return list(members(content=content, max_member_bytes=most))


def names(*entries: str | zipfile.ZipInfo) -> list[str]:
    return [member.name for member in unpacked(zipped(*((entry, b"x") for entry in entries)))]


def test_files_come_in_order_with_their_bytes() -> None:
    found = unpacked(zipped(("b.md", b"bee"), ("deep/er/a.txt", b"ay"), ("empty.md", b"")))
    assert [(member.name, member.content) for member in found] == [
        ("b.md", b"bee"),
        ("deep/er/a.txt", b"ay"),
        ("empty.md", b""),
    ]


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("C:\\Users\\me\\a.txt", "Users/me/a.txt"),
        ("a/./b//c.md", "a/b/c.md"),
        ("a\x1bb.md", "ab.md"),
        ("naïve ☃.md", "naïve ☃.md"),
        (" padded /a.md", "padded/a.md"),
    ],
)
def test_names_stay_within_the_archive(entry: str, name: str) -> None:
    assert names(entry) == [name]


@pytest.mark.parametrize(
    "entry",
    [
        "folder/",
        "__MACOSX/a.md",
        "a/__MACOSX/._b",
        ".git/config",
        "a/.DS_Store",
        "Thumbs.db",
        "x/desktop.ini",
        "~$report.docx",
        "a/~$b.xlsx",
        "..",
        "/",
        "C:",
    ],
)
def test_what_is_no_file_for_people_is_left_out(entry: str) -> None:
    assert names(entry, "kept.md") == ["kept.md"]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_left_out(kind: int) -> None:
    link = zipfile.ZipInfo("link.md")
    link.external_attr = (kind | 0o777) << 16
    assert names(link, "kept.md") == ["kept.md"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_of_one_name_are_told_apart() -> None:
    assert names("a/b.md", "a/b.md", "a\\b.md", "a/./b.md") == [
        "a/b.md",
        "a/b (2).md",
        "a/b (3).md",
        "a/b (4).md",
    ]


def test_many_files_of_one_name_are_told_apart_soon() -> None:
    content = zipped(*((f"{n:04}", b"x") for n in range(2000)))
    for n in range(2000):
        content = content.replace(f"{n:04}".encode(), b"a.md")
    found = [member.name for member in unpacked(content)]
    assert found == ["a.md", *(f"a ({n}).md" for n in range(2, 2001))]


@given(st.text(alphabet=st.sampled_from("ab.:/\\ ~\0\x1b\ud800…ü"), max_size=30))
def test_no_name_leads_out_of_the_archive(name: str) -> None:
    safe = safe_name(name)
    assert not safe.startswith("/")
    assert not set(safe.split("/")) & {".", ".."}
    assert safe[1:2] != ":"
    assert "\\" not in safe
    assert safe_name(safe) == safe
    safe.encode()


def test_long_names_keep_their_end() -> None:
    [found] = names("ü" * 300 + "/" + "ß" * 3000 + ".md")
    assert found.endswith("ßß.md")
    assert MAX_NAME - 2 <= len(found.encode()) <= MAX_NAME


ENCODED = [
    ("utf-8", "Überblick.md"),
    ("cp437", "Übersicht für Köln.md"),
    ("cp850", "Ação.md"),
    ("cp1252", "résumé.pdf"),
    ("cp866", "Договор аренды.pdf"),
    ("cp1251", "Договор.pdf"),
    ("cp932", "議事録と資料の一覧表.md"),
    ("cp932", "テスト.txt"),
    ("gb18030", "中文文件.txt"),
    ("big5", "報告書.doc"),
]


@pytest.mark.parametrize(("encoding", "name"), ENCODED, ids=[f"{encoding} {name}" for encoding, name in ENCODED])
def test_names_in_other_encodings_are_guessed(encoding: str, name: str) -> None:
    raw = name.encode(encoding)
    placeholder = "x" * len(raw)
    content = zipped((placeholder, b"x")).replace(placeholder.encode(), raw)
    assert [member.name for member in unpacked(content)] == [name]


def test_names_that_no_encoding_fits_are_still_names() -> None:
    raw = b"\xff\x81\x00\xfe.md"
    placeholder = "x" * len(raw)
    content = zipped((placeholder, b"x"), ("b.md", b"y")).replace(placeholder.encode(), raw)
    found = unpacked(content)
    assert [member.content for member in found] == [b"x", b"y"]
    assert found[0].name.endswith(".md")


def test_an_archive_within_comes_as_it_is() -> None:
    inner = zipped(("a.md", b"x"))
    assert unpacked(zipped(("inner.zip", inner)))[0].content == inner


def test_a_file_packed_in_an_unknown_way_is_named_and_the_others_come() -> None:
    content = zipped(("odd.txt", b"one two three"), ("good.txt", b"x"))
    odd = content.replace(b"\x08\x00", b"\x09\x00", 1)
    place = odd.index(b"PK\x01\x02") + 10
    odd = odd[:place] + b"\x09\x00" + odd[place + 2 :]
    assert [(member.name, member.code) for member in unpacked(odd)] == [
        ("odd.txt", "unsupported_type"),
        ("good.txt", ""),
    ]


def test_sizes_that_lie_are_found_out() -> None:
    content = zipped(("lies.txt", b"ab" * 5000), ("good.txt", b"x"))
    place = content.index(b"PK\x01\x02") + 24
    lying = content[:place] + struct.pack("<I", 10) + content[place + 4 :]
    assert [(member.name, member.code) for member in unpacked(lying)] == [
        ("lies.txt", "corrupt_file"),
        ("good.txt", ""),
    ]


def test_a_large_file_is_named_and_the_others_come() -> None:
    found = unpacked(zipped(("large.txt", b"ab" * 600), ("small.txt", b"x")), most=1000)
    assert [(member.name, member.content, member.code) for member in found] == [
        ("large.txt", None, "too_large"),
        ("small.txt", b"x", ""),
    ]


def test_a_damaged_file_is_named_and_the_others_come() -> None:
    content = bytearray(zipped(("bad.txt", b"one two three four five six"), ("good.txt", b"x")))
    start = content.index(b"bad.txt") + len("bad.txt")
    content[start + 3] ^= 0xFF
    found = unpacked(bytes(content))
    assert [(member.name, member.code) for member in found] == [("bad.txt", "corrupt_file"), ("good.txt", "")]
    assert found[0].detail.endswith(".")


def refused(content: bytes) -> str:
    with pytest.raises(UnableToParse) as caught:
        unpacked(content)
    return caught.value.code


def test_bounds_are_kept_before_anything_is_unpacked() -> None:
    assert refused(zipped(("bomb.txt", b"\0" * 50_000_000))) == "too_large"
    assert refused(zipped(*((f"{n}.md", b"") for n in range(MAX_MEMBERS + 1)))) == "too_large"
    assert refused(zipped(("a.md", b"x"))[:-30]) == "corrupt_file"


def test_an_encrypted_archive_says_so() -> None:
    content = bytearray(zipped(("a.md", b"x")))
    place = content.index(b"PK\x01\x02") + 8
    content[place : place + 2] = struct.pack("<H", 1)
    assert refused(bytes(content)) == "encrypted"
