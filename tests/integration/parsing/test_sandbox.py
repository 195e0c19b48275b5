"""The parser process: what a file does to it stays there, and the next file is parsed."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest_app.parsing import ParsedDocument, UnableToParse, parse
from ingest_app.parsing import sandbox as sandbox_module
from ingest_app.parsing.archives import MAX_UNCOMPRESSED
from ingest_app.parsing.frames import read_document, read_members, write_end, write_frame, write_member
from ingest_app.parsing.sandbox import ParserProcess
from ingest_app.parsing.unpacking import MAX_MEMBERS, Member, members

PAGE = b"# Title\n\nBody \xe2\x98\x83.\n"
ROOT = Path(sandbox_module.__file__).parents[2]
MEMORY = 1024**3


@pytest.fixture
def parser() -> Iterator[ParserProcess]:
    with ParserProcess(timeout_seconds=120, memory_bytes=MEMORY) as process:
        yield process


def child_of(parser: ParserProcess) -> int:
    assert parser._child is not None
    return parser._child._process.pid


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(pid)


def refused(parser: ParserProcess, name: str, content: bytes) -> str:
    with pytest.raises(UnableToParse) as caught:
        parser.parse(name=name, content=content)
    return caught.value.code


class Cancelled(Exception):
    pass


SLOW = b"<html><body><table>" + b"<tr><td>cell</td><td>more <b>bold</b></td></tr>" * 60_000 + b"</table></body></html>"


def test_a_file_can_be_given_up_while_it_is_read(parser: ParserProcess) -> None:
    calls = iter(range(1000))

    def check() -> None:
        if next(calls) == 1:
            raise Cancelled

    with pytest.raises(Cancelled):
        parser.parse(name="slow.html", content=SLOW, check=check)
    assert next(calls) == 2, "it took more than two looks, so it really was being read"
    assert parser.parse(name="a.md", content=PAGE).title == "Title"


def test_the_stop_of_a_server_is_not_a_crash_of_the_file(parser: ParserProcess) -> None:
    """SIGTERM reaches the worker's whole group; the worker decides what becomes of the file in hand."""
    parser.parse(name="a.md", content=PAGE)

    def check() -> None:
        os.kill(child_of(parser), signal.SIGTERM)

    assert parser.parse(name="slow.html", content=SLOW, check=check).text.count("cell") == 60_000


def test_the_child_answers_as_the_parser_does(parser: ParserProcess) -> None:
    found = parser.parse(name="folder/ä ☃.md", content=PAGE)
    assert found == parse(name="folder/ä ☃.md", content=PAGE)
    assert isinstance(found, ParsedDocument)


def test_one_child_serves_many_files_and_failures(parser: ParserProcess) -> None:
    parser.parse(name="a.md", content=PAGE)
    pid = child_of(parser)
    assert refused(parser, "a.md", b"") == "empty_file"
    assert refused(parser, "a.docx", b"PK\x03\x04 broken") == "corrupt_file"
    assert parser.parse(name="b.txt", content=b"text " * 400_000).text
    assert child_of(parser) == pid


def test_a_killed_child_is_replaced(parser: ParserProcess) -> None:
    parser.parse(name="a.md", content=PAGE)
    first = child_of(parser)
    os.kill(first, signal.SIGKILL)
    wait_for_end(first)
    assert parser.parse(name="a.md", content=PAGE).title == "Title"
    assert child_of(parser) != first


def test_a_child_that_dies_over_a_file_is_a_crash_and_the_next_file_is_parsed(parser: ParserProcess) -> None:
    parser.parse(name="a.md", content=PAGE)
    pid = child_of(parser)
    os.kill(pid, signal.SIGSTOP)
    codes: list[str] = []
    reader = threading.Thread(target=lambda: codes.append(refused(parser, "a.md", PAGE)))
    reader.start()
    deadline = time.monotonic() + 20
    while parser._child is None or parser._child._files < 2:  # until the file is on its way
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(pid, signal.SIGSEGV)
    os.kill(pid, signal.SIGCONT)
    reader.join()
    assert codes == ["parser_crashed"]
    assert parser.parse(name="a.md", content=PAGE).title == "Title"


def test_a_file_that_takes_too_long_is_given_up() -> None:
    with ParserProcess(timeout_seconds=30, memory_bytes=MEMORY) as parser:
        parser.parse(name="a.md", content=PAGE)
        pid = child_of(parser)
        os.kill(pid, signal.SIGSTOP)  # as good as an endless loop, and larger than the pipe's buffer
        parser._timeout_seconds = 0.2
        with pytest.raises(UnableToParse, match=r"longer than 0\.2 seconds") as caught:
            parser.parse(name="a.txt", content=b"x" * 1_000_000)
        assert caught.value.code == "parse_timeout"
        assert not is_running(pid)
        parser._timeout_seconds = 30
        assert parser.parse(name="a.md", content=PAGE).title == "Title"


def test_a_file_that_needs_more_memory_is_too_large() -> None:
    with ParserProcess(timeout_seconds=60, memory_bytes=160 * 1024**2) as parser:
        assert parser.parse(name="a.md", content=PAGE).title == "Title"
        assert refused(parser, "a.md", b"## heading of it\n\nwords\n\n" * 700_000) in {"too_large", "parser_crashed"}
        assert parser.parse(name="a.md", content=PAGE).title == "Title"


def archive(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return stream.getvalue()


def test_the_child_unpacks_as_it_is_done_here(parser: ParserProcess) -> None:
    content = archive(
        **{"ä ☃.md": b"\0\xff\n" * 300_000, "large": b"ab" * 800_000, "empty": b"", "d/c.zip": archive(a=b"x")}
    )
    parser.parse(name="a.md", content=PAGE)
    pid = child_of(parser)
    found = parser.unpack(name="a.zip", content=content, max_member_bytes=1_000_000)
    assert found == list(members(content=content, max_member_bytes=1_000_000))
    assert [(member.name, member.code) for member in found] == [
        ("ä ☃.md", ""),
        ("large", "too_large"),
        ("empty", ""),
        ("d/c.zip", ""),
    ]
    with pytest.raises(UnableToParse) as caught:
        parser.unpack(name="a.zip", content=content[:-40], max_member_bytes=1000)
    assert caught.value.code == "corrupt_file"
    assert parser.parse(name="a.md", content=PAGE).title == "Title"
    assert child_of(parser) == pid


def test_an_archive_that_takes_too_long_is_given_up(parser: ParserProcess) -> None:
    parser.parse(name="a.md", content=PAGE)
    os.kill(child_of(parser), signal.SIGSTOP)
    parser._timeout_seconds = 0.2
    with pytest.raises(UnableToParse) as caught:
        parser.unpack(name="a.zip", content=archive(a=b"x"), max_member_bytes=1000)
    assert caught.value.code == "parse_timeout"
    parser._timeout_seconds = 30
    assert parser.unpack(name="a.zip", content=archive(a=b"x"), max_member_bytes=9)[0].content == b"x"


def test_an_archive_can_be_given_up_while_it_is_unpacked(parser: ParserProcess) -> None:
    parser.parse(name="a.md", content=PAGE)
    os.kill(child_of(parser), signal.SIGSTOP)

    def check() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        parser.unpack(name="a.zip", content=archive(a=b"x"), max_member_bytes=1000, check=check)
    assert parser.parse(name="a.md", content=PAGE).title == "Title"


def test_a_child_that_kept_much_memory_is_replaced(parser: ParserProcess) -> None:
    parser.parse(name="a.md", content=PAGE)
    pid = child_of(parser)
    assert parser._child is not None
    parser._child._most_kept = 1
    assert parser.parse(name="a.md", content=PAGE).title == "Title"
    assert child_of(parser) != pid


def answers(*members: Member, end: bool = True) -> io.BytesIO:
    stream = io.BytesIO()
    for member in members:
        write_member(stream, member)
    if end:
        write_end(stream)
    stream.seek(0)
    return stream


def test_what_a_child_that_was_taken_over_may_say_is_bounded() -> None:
    """Its answers are data that came with the file: no name leads out, and nothing fills the memory."""
    assert read_members(answers(Member(name="a", content=None, detail="No.", code="x")))[0].content is None
    for name in ("../a", "/a", "C:/a", "a\\b", ""):
        with pytest.raises(ValueError, match="leads out"):
            read_members(answers(Member(name=name, content=b"")))
    with pytest.raises(ValueError, match="too many"):
        read_members(answers(*[Member(name="a", content=b"")] * (MAX_MEMBERS + 1)))
    with pytest.raises(EOFError):
        read_members(answers(Member(name="a", content=b""), end=False))
    large = answers(Member(name="a", content=b""), end=False)
    large.seek(-8, io.SEEK_END)
    large.write((MAX_UNCOMPRESSED + 1).to_bytes(8, "big"))
    large.seek(0)
    with pytest.raises(EOFError):
        read_members(large)


@pytest.mark.parametrize("answer", [[], {}, {"error": {}}, {"error": "x"}, {"document": {}}, {"document": None}, 1])
def test_an_answer_that_is_none_is_no_document(answer: object) -> None:
    stream = io.BytesIO()
    write_frame(stream, json.dumps(answer).encode())
    stream.seek(0)
    with pytest.raises(ValueError, match="answer"):
        read_document(stream)


def test_closing_ends_the_child(parser: ParserProcess) -> None:
    parser.parse(name="a.md", content=PAGE)
    pid = child_of(parser)
    parser.close()
    assert not is_running(pid)
    parser.close()


def test_the_child_dies_with_its_parent() -> None:
    script = (
        "import sys\nfrom ingest_app.parsing.sandbox import ParserProcess\n"
        f"p = ParserProcess(timeout_seconds=30, memory_bytes={MEMORY})\n"
        "p.parse(name='a.md', content=b'# x')\nprint(p._child._process.pid, flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
    wait_for_end(pid)


def test_the_child_sees_no_secrets(parser: ParserProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ConnectionStrings__Default", "postgres://user:secret@host/db")
    parser.parse(name="a.md", content=PAGE)
    assert b"secret" not in Path(f"/proc/{child_of(parser)}/environ").read_bytes()


def test_the_child_loads_no_django() -> None:
    script = "import sys, ingest_app.parsing.sandbox_child\nprint('django' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
