"""The package that docs/howto/add-a-provider.md makes, as the page has it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.docs.pages import ROOT

PAGE = ROOT / "docs" / "howto" / "add-a-provider.md"
_FILE = re.compile(r"^`(ragsite-folder/[\w.]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)
_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)


def make_package(folder: Path) -> list[str]:
    """Write the page's files below a folder; their names."""
    files = _FILE.findall(PAGE.read_text(encoding="utf-8"))
    for name, text in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [name for name, _ in files]


def commands() -> list[str]:
    """The page's blocks of commands, in order."""
    return _COMMANDS.findall(PAGE.read_text(encoding="utf-8"))
