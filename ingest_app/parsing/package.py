"""The parts of an archive that is a document, such as PPTX, ODT and EPUB: found by name, damaged ones named."""

from __future__ import annotations

import posixpath
import unicodedata
from typing import Any
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]

from ingest_app.parsing.archives import open_archive
from ingest_app.parsing.errors import UnableToParse

#: lxml elements carry no types.
Element = Any


class Package:
    """An opened document. Parts are found without regard to case, and nothing outside of the archive is."""

    def __init__(self, content: bytes) -> None:
        """Raises UnableToParse: `corrupt_file`, `encrypted`, `too_large`."""
        self._archive = open_archive(content)
        self._names = {_key(entry): entry for entry in self._archive.namelist()}

    def read(self, path: str) -> bytes | None:
        """A part's content, or None where there is none of this name."""
        entry = self._names.get(_key(path))
        if entry is None:
            return None
        try:
            return self._archive.read(entry)
        except MemoryError:
            raise
        except Exception as error:  # one of a dozen, by what is broken and how it was compressed
            raise damaged() from error

    def xml(self, path: str, *, lenient: bool = False) -> Element | None:
        """A part as a tree, or None where there is none. Entities stay unresolved.

        `lenient` reads on after errors, as programs do with parts that matter less; what is no XML at all is None.
        """
        content = self.read(path)
        if content is None:
            return None
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=lenient
        )
        try:
            return etree.fromstring(content, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
                raise MemoryError from error
            if lenient:
                return None
            raise damaged() from error


def damaged() -> UnableToParse:
    """What to raise for a file that its own program could not read either."""
    return UnableToParse(
        "The file is damaged or was cut off: open it in its program, save it again and upload that.",
        "corrupt_file",
    )


def resolved(reference: str, *, base: str) -> str:
    """The path of a part that another part at `base` refers to: `../media/a%20b.png#c` to `ppt/media/a b.png`."""
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), path)).lstrip("/")


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path.replace("\\", "/").lstrip("/")).casefold()
