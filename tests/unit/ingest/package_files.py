"""Archives that are documents, built and broken on the spot, and what parsers say to them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping

import pytest

from ingest_app.parsing import ParsedDocument, UnableToParse, parse

#: Entities of which the last would be a million million laughs.
LAUGHS = '<!ENTITY l0 "laugh">' + "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(12))


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return stream.getvalue()


def changed(content: bytes, change: Callable[[dict[str, bytes]], object]) -> bytes:
    """The archive after a change of its parts."""
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    change(parts)
    return archive(parts)


def refused(name: str, content: bytes) -> str:
    """The code of the failure, after a look at its sentence."""
    with pytest.raises(UnableToParse) as caught:
        parse(name=name, content=content)
    assert caught.value.detail.endswith(".")
    assert "/" not in caught.value.detail
    return caught.value.code


def headings(parsed: ParsedDocument) -> list[tuple[int, str]]:
    """Level and text, each found where it is said to be."""
    for heading in parsed.headings:
        assert parsed.text[heading.offset :].split("\n")[0].lstrip("# ") == heading.text
    return [(heading.level, heading.text) for heading in parsed.headings]
