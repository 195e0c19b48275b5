"""Identifiers asked for bare, and within a question whose other words are those of other documents."""

from __future__ import annotations

import re
from collections import Counter

from benchmarks.quality.beir import JudgedSet, Text
from benchmarks.quality.sets.picking import clipped, one, some
from benchmarks.quality.sets.python_source import Definition, installed

DOCUMENTS = 1500
PIECES = 900
QUERIES = 300
_TEXT = 450
_WORD = re.compile(r"[a-z]{4,}")
_IDENTIFIER = re.compile(r"[A-Za-z_]{8,}")
_TEMPLATES = (
    "how do I use {name} to {a} the {b}",
    "what does {name} return when the {a} is {b}",
    "why is {name} called with a {a} before {b}",
    "{name} raises an error about the {a} {b}",
    "can I change the {a} of a {b} with {name}",
    "what is {name} good for",
    "when should I prefer {name} over another {a} for {b}",
    "where is the {a} {b} set by {name}",
)


def identifiers() -> JudgedSet:
    """A query is nothing but an identifier that is the title of one document."""
    return _judged("identifiers", _definitions(), _asked(), questions=False)


def identifier_questions() -> JudgedSet:
    """The same identifiers in questions of 5 to 14 words."""
    return _judged("identifier-questions", _definitions(), _asked(), questions=True)


def mentions() -> JudgedSet:
    """A query is nothing but an identifier that the code of one document uses, among others."""
    return _judged("mentions", _code(), _mentioned(), questions=False)


def mention_questions() -> JudgedSet:
    """The same identifiers in questions."""
    return _judged("mention-questions", _code(), _mentioned(), questions=True)


def _chosen() -> list[Definition]:
    found = installed()
    return [found[dotted] for dotted in sorted(some(found, DOCUMENTS, purpose="identifiers"))]


def _definitions() -> list[Text]:
    return [
        Text(id=each.dotted, title=each.dotted, text=clipped(f"{each.signature}\n{each.docstring}", _TEXT))
        for each in _chosen()
    ]


def _asked() -> dict[str, str]:
    """How each document asked for is called: a third each by name, by qualified name, by its whole path."""
    documents = _chosen()
    names = Counter(document.name.lower() for document in documents)
    qualified = Counter(document.qualified.lower() for document in documents)
    spellings: dict[str, list[str]] = {}
    for document in documents:
        found = [document.dotted]
        if _has_parts(document.name) and names[document.name.lower()] == 1:
            found += [document.name] * 2
        if "." in document.qualified and qualified[document.qualified.lower()] == 1:
            found.append(document.qualified)
        spellings[document.dotted] = found
    return {
        dotted: one(spellings[dotted], f"spelling {dotted}")
        for dotted in some(spellings, QUERIES, purpose="asked identifiers")
    }


def _has_parts(name: str) -> bool:
    """camelCase, CamelCase or snake_case: what cannot be taken for a word."""
    return "_" in name.strip("_") or (any(character.isupper() for character in name[1:]) and not name.isupper())


def _code() -> list[Text]:
    """Pieces of code below the names of their modules."""
    found = {dotted: each for dotted, each in installed().items() if len(each.body) >= _TEXT // 2}
    return [
        Text(
            id=dotted,
            title=dotted.removesuffix(f".{found[dotted].qualified}"),
            text=clipped(f"{found[dotted].signature}\n{found[dotted].body}", _TEXT),
        )
        for dotted in sorted(some(found, PIECES, purpose="code"))
    ]


def _mentioned() -> dict[str, str]:
    """One identifier of each piece of code that no other has."""
    pieces = {piece.id: set(_IDENTIFIER.findall(piece.text)) for piece in _code()}
    counts = Counter(name.lower() for names in pieces.values() for name in names)
    own = {
        dotted: sorted(name for name in names if _has_parts(name) and counts[name.lower()] == 1)
        for dotted, names in pieces.items()
    }
    usable = [dotted for dotted, names in own.items() if names]
    return {dotted: one(own[dotted], f"mention {dotted}") for dotted in some(usable, QUERIES, purpose="asked mentions")}


def _words(documents: list[Text]) -> list[str]:
    """Words that several documents use, and not most."""
    counts = Counter(word for document in documents for word in set(_WORD.findall(document.text.lower())))
    return sorted(word for word, count in counts.items() if 5 <= count <= 100)


def _judged(name: str, documents: list[Text], asked: dict[str, str], *, questions: bool) -> JudgedSet:
    queries = asked
    if questions:
        words = _words(documents)
        texts = {document.id: document.text.lower() for document in documents}
        queries = {
            dotted: _question(identifier, dotted, [word for word in words if word not in texts[dotted]])
            for dotted, identifier in asked.items()
        }
    return JudgedSet(
        name=name,
        documents=tuple(documents),
        queries=queries,
        judgements={dotted: {dotted: 1} for dotted in asked},
    )


def _question(identifier: str, key: str, others: list[str]) -> str:
    """The identifier in a question that otherwise has words of other documents."""
    return one(_TEMPLATES, f"template {key}").format(
        name=identifier, a=one(others, f"a {key}"), b=one(others, f"b {key}")
    )
