"""Descriptions of a thing, looked for in what else is written about it."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.quality.beir import JudgedSet, Text
from benchmarks.quality.sets.picking import clipped, some
from benchmarks.quality.sets.python_source import Definition, installed
from benchmarks.quality.sets.ruff_rules import rules

DOCUMENTS = 1000
QUERIES = 300
_TEXT = 450
#: A query has so many words of four letters or more.
_LEAST_WORDS = 4
_LONG_WORD = re.compile(r"\w{4,}")
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
#: Words that begin with the same so many letters count as the same word: "serialize", "serializers".
_STEM = 5


def code_search() -> JudgedSet:
    """From the first sentence of a docstring, without the words of the name, to signature and the rest."""
    return _of_code("code-search", lambda document: document.dotted)


def other_words() -> JudgedSet:
    """The same without any word of the document looked for: nothing but meaning leads there."""
    return _of_code("other-words", lambda document: f"{document.dotted} {document.signature} {document.rest}")


def rule_reasons() -> JudgedSet:
    """From why something is bad to the rules of ruff that say so of what they find."""
    named: dict[str, list[str]] = {}
    for rule in rules():
        if _is_enough(rule.reason):
            named.setdefault(rule.reason, []).append(rule.name)
    asked = some(named, QUERIES, purpose="rule reasons")
    return JudgedSet(
        name="rule-reasons",
        documents=tuple(Text(id=rule.name, title=rule.name, text=clipped(rule.what, _TEXT)) for rule in rules()),
        queries={named[reason][0]: reason for reason in asked},
        judgements={named[reason][0]: dict.fromkeys(named[reason], 1) for reason in asked},
    )


def _of_code(name: str, known: Callable[[Definition], str]) -> JudgedSet:
    found = {dotted: each for dotted, each in installed().items() if len(each.rest) >= _TEXT // 4}
    documents = [found[dotted] for dotted in sorted(some(found, DOCUMENTS, purpose="code"))]
    queries = {document.dotted: _without(document.first_sentence, known(document)) for document in documents}
    asked = some([dotted for dotted, query in queries.items() if _is_enough(query)], QUERIES, purpose=name)
    return JudgedSet(
        name=name,
        documents=tuple(
            Text(
                id=document.dotted, title=document.dotted, text=clipped(f"{document.signature}\n{document.rest}", _TEXT)
            )
            for document in documents
        ),
        queries={dotted: queries[dotted] for dotted in asked},
        judgements={dotted: {dotted: 1} for dotted in asked},
    )


def _is_enough(query: str) -> bool:
    return len(_LONG_WORD.findall(query)) >= _LEAST_WORDS


def _without(sentence: str, known: str) -> str:
    """The sentence without words that stand in the other text, whole or as a part of a name; short words stay."""
    taken = {piece.lower()[:_STEM] for piece in _PIECE.findall(known) if len(piece) > 3}
    return " ".join(
        word
        for word in _WORD.findall(sentence)
        if not any(piece.lower()[:_STEM] in taken for piece in _PIECE.findall(word))
    )
