"""The judged sets that are built from what is installed."""

from __future__ import annotations

import pytest

from benchmarks.quality.beir import JudgedSet
from benchmarks.quality.sets import BUILT, names, paraphrases, picking
from benchmarks.quality.sets.python_source import Definition, definitions

SOURCE = '''
class ShelfReader(Base):
    """Reads the books of one shelf, from left to right, until somebody stops it. Never sorts them."""

    def next_book(self, *, skip: int = 0) -> str:
        """Return the title of whatever stands beside the last one. Wraps around at the end of the shelf."""
        return self.wrap_around(skip)

    def _hidden(self):
        """Nobody outside should ever call this one, and so it is in no judged set at all."""

def short():
    """Too short."""
'''


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> dict[str, Definition]:
    found = {
        each.dotted: each
        for number in range(8)
        for each in definitions(SOURCE.replace("Shelf", f"Shelf{'ABCDEFGH'[number]}"), module=f"library.m{number}")
    }
    monkeypatch.setattr(names, "installed", lambda: found)
    monkeypatch.setattr(paraphrases, "installed", lambda: found)
    return found


def test_public_definitions_with_a_docstring_are_read_from_source() -> None:
    reader, method = definitions(SOURCE, module="library.shelves")
    assert (reader.dotted, reader.name) == ("library.shelves.ShelfReader", "ShelfReader")
    assert reader.signature == "class ShelfReader(Base)"
    assert method.qualified == "ShelfReader.next_book"
    assert method.signature == "def next_book(self, *, skip: int=0)"
    assert method.first_sentence == "Return the title of whatever stands beside the last one."
    assert method.rest == "Wraps around at the end of the shelf."
    assert method.body == "return self.wrap_around(skip)"


def _is_whole(judged: JudgedSet) -> bool:
    """Whether every query has a text and a relevant document, and every document is there once."""
    ids = [document.id for document in judged.documents]
    return (
        len(ids) == len(set(ids))
        and bool(judged.queries)
        and judged.queries.keys() == judged.judgements.keys()
        and all(text.strip() for text in judged.queries.values())
        and all(set(grades) <= set(ids) and any(grades.values()) for grades in judged.judgements.values())
    )


@pytest.mark.parametrize("name", ["codes", "rule-reasons"])
def test_sets_from_installed_tools_are_whole_and_always_the_same(name: str) -> None:
    judged = BUILT[name]()
    assert _is_whole(judged)
    assert judged == BUILT[name]()
    assert 1000 > len(judged.queries) >= 100


def test_bare_identifiers_are_the_whole_query(library: dict[str, Definition]) -> None:
    judged = names.identifiers()
    assert _is_whole(judged)
    assert all(dotted.endswith(query) for dotted, query in judged.queries.items())


def test_questions_hold_the_identifier_among_other_words(library: dict[str, Definition]) -> None:
    bare, questions = names.identifiers(), names.identifier_questions()
    assert _is_whole(questions)
    for dotted, query in questions.queries.items():
        assert bare.queries[dotted] in query.split()
        assert 5 <= len(query.split()) <= 14


def test_other_words_shares_no_long_word_with_its_document(library: dict[str, Definition]) -> None:
    judged = paraphrases.other_words()
    texts = {document.id: f"{document.title} {document.text}".lower() for document in judged.documents}
    shared = [
        word
        for dotted, query in judged.queries.items()
        for word in query.lower().split()
        if len(word) > 3 and word in texts[dotted]
    ]
    assert shared == []


def test_picking_depends_on_key_and_purpose_alone() -> None:
    keys = [f"key{number}" for number in range(50)]
    assert picking.some(keys, 10, purpose="a") == picking.some(reversed(keys), 10, purpose="a")
    assert picking.some(keys, 10, purpose="a") != picking.some(keys, 10, purpose="b")
    assert picking.clipped("one  two\nthree", 9) == "one two"
