"""The rules of the installed ruff: code, name, what each does and why what it finds is bad."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])|\n\s*\n")


@dataclass(frozen=True, kw_only=True)
class Rule:
    code: str
    name: str
    linter: str
    summary: str
    what: str
    #: The first sentence of why it is bad; empty where that is not said.
    reason: str


@cache
def rules() -> tuple[Rule, ...]:
    """Those that have a code, by it."""
    command = [sys.executable, "-m", "ruff", "rule", "--all", "--output-format", "json"]
    done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 - our own interpreter
    found = [_rule(rule) for rule in json.loads(done.stdout) if rule["code"]]
    return tuple(sorted(found, key=lambda rule: (rule.code, rule.name)))


def _rule(found: dict[str, str]) -> Rule:
    pieces = _SECTION.split(found["explanation"])
    sections = {title.strip(): " ".join(text.split()) for title, text in zip(pieces[1::2], pieces[2::2], strict=True)}
    reason = _SENTENCE.split(sections.get("Why is this bad?", ""), maxsplit=1)[0]
    return Rule(
        code=found["code"],
        name=found["name"],
        linter=found["linter"],
        summary=found["summary"],
        what=sections.get("What it does", found["summary"]),
        reason=reason,
    )
