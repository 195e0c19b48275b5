"""`python -m benchmarks.formats FOLDER`: the tables in docs/formats.md.

FOLDER holds `good` and `hostile`. Each file goes through the parser process and the chunker as an upload would,
with the default embedding model's tokens; nothing is stored.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.formats.expectations import EXPECTED, is_found
from ingest_app.chunking import chunk
from ingest_app.parsing import ParsedDocument, UnableToParse, sniff
from ingest_app.parsing.media_types import ZIP
from ingest_app.parsing.sandbox import ParserProcess

SIZE, OVERLAP = 200, 30
#: What a hostile file may take.
MOST_SECONDS, MOST_BYTES = 30.0, 1024**3


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one file: a document, or the code of a refusal."""

    document: ParsedDocument | None
    code: str
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formats", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    count_tokens = _tokens_of_the_default_model()
    with ParserProcess(timeout_seconds=MOST_SECONDS, memory_bytes=MOST_BYTES) as process:
        _read(process, Path("first.md"), b"# The child is started\n")
        print("| file | kind | characters | chunks | pages, sections or rows | found where expected | ms |")
        print("|---|---|---|---|---|---|---|")
        for path in sorted((folder / "good").iterdir()):
            print(_good_line(path, _read(process, path, path.read_bytes()), count_tokens))
        print("\n| hostile file | outcome | ms |\n|---|---|---|")
        for path in sorted((folder / "hostile").iterdir()):
            print(_hostile_line(path, _read(process, path, path.read_bytes())))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"\nThe parser process took at most {peak:,.0f} MB.")


def _read(process: ParserProcess, path: Path, content: bytes) -> Outcome:
    started = time.perf_counter()
    document, code = None, ""
    try:
        document = process.parse(name=path.name, content=content)
    except UnableToParse as error:
        code = error.code
    return Outcome(document=document, code=code, seconds=time.perf_counter() - started)


def _good_line(path: Path, outcome: Outcome, count_tokens: Callable[[str], int]) -> str:
    document = outcome.document
    if document is None:
        right = "yes" if EXPECTED.get(path.name) == outcome.code else "NO"
        return f"| {path.name} | refused: `{outcome.code}` | | | | {right} | {1000 * outcome.seconds:.0f} |"
    chunks = chunk(document, size=SIZE, overlap=OVERLAP, count_tokens=count_tokens)
    expected = EXPECTED.get(path.name)
    right = (
        "NO"
        if expected is None or isinstance(expected, str)
        else "yes"
        if is_found(document, chunks, expected)
        else "NO"
    )
    return (
        f"| {path.name} | {document.media_type.rpartition('.')[2]} | {len(document.text):,} | {len(chunks)} "
        f"| {_places(document)} | {right} | {1000 * outcome.seconds:.0f} |"
    )


def _places(document: ParsedDocument) -> str:
    parts = [(len(document.pages), "pages"), (len(document.headings), "headings"), (len(document.rows), "tables")]
    return ", ".join(f"{count} {what}" for count, what in parts if count) or "none"


def _hostile_line(path: Path, outcome: Outcome) -> str:
    name = path.name if len(path.name) < 50 else f"{path.name[:20]}… ({len(path.name)} characters)"
    said = f"refused: `{outcome.code}`"
    if outcome.document is not None:
        said = f"{len(outcome.document.text):,} characters of text"
    elif sniff(name=path.name, content=path.read_bytes()) == ZIP:
        said = "an archive"
    return f"| {name} | {said} | {1000 * outcome.seconds:.0f} |"


def _tokens_of_the_default_model() -> Callable[[str], int]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    import django

    django.setup()
    from core_app.wiring import embedder

    return embedder().count_tokens


if __name__ == "__main__":
    main()
