"""Texts of data files that the console shows: translators read Python and templates only, so a module names them.

After a change of the list: `RAGSITE_WRITE_CURE_WORDS=1 pytest tests/architecture/test_data_files.py`
"""

from __future__ import annotations

import json
import os

from ingest_app.cures import cures
from tests.architecture.test_rooms import ROOT

WORDS = ROOT / "ingest_app" / "cures_words.py"
#: The longest line, with its end.
LINE = 121
HEAD = '''"""The sentences of `cures.toml`, for `makemessages`; tests/architecture/test_data_files.py writes them."""

from __future__ import annotations

from django.utils.translation import gettext_noop

CURES = (
'''


def marked(sentence: str) -> str:
    """A line that marks the sentence, as the formatter leaves it."""
    line = f"    gettext_noop({_literal(sentence)}),\n"
    if len(line) <= LINE:
        return line
    parts = [sentence]
    if len(_literal(sentence)) + 8 >= LINE:
        at = sentence.index(". ") + 2
        parts = [sentence[:at], sentence[at:]]
    return "    gettext_noop(\n" + "".join(f"        {_literal(part)}\n" for part in parts) + "    ),\n"


def _literal(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)


def test_translators_get_every_cure() -> None:
    expected = f"{HEAD}{''.join(map(marked, dict.fromkeys(cures().values())))})\n"
    if os.environ.get("RAGSITE_WRITE_CURE_WORDS"):
        WORDS.write_text(expected, encoding="utf-8")
    assert WORDS.read_text(encoding="utf-8") == expected, "RAGSITE_WRITE_CURE_WORDS=1 writes them anew"
