"""Names in a query: what a rare one counts, so that the other words of a long question do not drown it.

A name is a term that stands for a whole identifier (`hook.player.connected`), or one with a digit (`E501`, `1040`), but
not a plain number (`12`, `0.5`, `3-4`) or a year (`2024`), if the collection has it. It is rare by min(1, RARE / df):
wholly in up to RARE chunks, half in twice as many.

    weight(t) = w(t) (1 + rarity(t) (max(BOOST, rest / (mass(t) part(t))) - 1))       mass(t) = w(t) idf(t)

`rest` is the mass of all that is no name, more than these words can add to any score. So a rare name counts BOOST times
or more, and as much as all other words together. Where it is made of words, `part` is the smallest share of its mass
that it adds to a chunk (`bm25.Impacts`), but LEAST at least: then no repetition of the other words outranks it, in
chunks up to some ten times as long as others. It is OF_CODES for a code, letters before three digits or more (`E501`,
`ORA-00942`, not `500kg`), which counts twice the other words and so stays first where meaning has a say: what the other
words are about is often the neighbour in a list of codes. It is 1 for other names (`IL-10`, `1040`, `mRNA`): in prose
they are words like others. A query without a name is standard BM25. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping

from stores_app.lexical.analysis import QueryTerm

RARE = 10
BOOST = 2.0
LEAST = 0.1
OF_CODES = 0.5
#: Shorter ones, such as `1a`, name nothing.
_SHORTEST = 3
_DIGIT = re.compile(r"\d")
#: Not `500kg`, `18h00`, `1920x1080` or `200-page`, which are said of anything.
_CODE = re.compile(r"[^\W\d_]+-?\d{3}")
#: A year is said of everything.
_NUMBER = re.compile(r"\d{1,3}|(?:19|20)\d\d|\d+[.-]\d+")


def rarities(asked: Iterable[QueryTerm], chunks: Mapping[str, int]) -> dict[str, float]:
    """The query's names and how rare each is, above 0 to 1; `chunks` says in how many each known term is."""
    terms = list(asked)
    wholes = {whole for term in terms for whole in term.wholes if whole in chunks}
    numbered = {term.term for term in terms if _has_number(term.term) and not wholes.intersection(term.wholes)}
    found = {name for name in wholes | numbered if name in chunks and not _NUMBER.fullmatch(name)}
    return {name: min(1.0, RARE / chunks[name]) for name in found}


def made_of_words(asked: Iterable[QueryTerm], rarities: Mapping[str, float]) -> set[str]:
    """Of the names those that only a program is likely to have: `my_app`, `Group.command`, `createModule`."""
    words: Counter[str] = Counter()
    for term in asked:
        if len(term.term) >= _SHORTEST and term.term.isalpha():
            words.update(term.wholes)
    return {name for name in rarities if "." in name or "_" in name or (words[name] > 1 and "-" not in name)}


def parts(rarities: Mapping[str, float], *, least: Mapping[str, float]) -> dict[str, float]:
    """Of each name what its mass is divided by; `least` has those that are `made_of_words`: above 0, below 1."""

    def part(name: str) -> float:
        if name in least:
            return max(LEAST, least[name])
        return OF_CODES if _CODE.match(name) else 1.0

    return {name: part(name) for name in rarities}


def raised(
    weights: Mapping[str, float],
    *,
    idfs: Mapping[str, float],
    rarities: Mapping[str, float],
    parts: Mapping[str, float],
) -> dict[str, float]:
    """The weights of the known terms, which `idfs` has; those of names raised."""
    masses = {term: weights[term] * idf for term, idf in idfs.items()}
    rest = sum(mass for term, mass in masses.items() if term not in rarities)
    boosts = {
        term: 1 + rarity * (max(BOOST, rest / (masses[term] * parts[term])) - 1) for term, rarity in rarities.items()
    }
    return {term: weights[term] * boosts.get(term, 1.0) for term in masses}


def worths(
    rarities: Mapping[str, float], *, parts: Mapping[str, float], made_of_words: Container[str]
) -> dict[str, float]:
    """What each name counts where collections are compared, all other words of the query together counting 1.

    A name that is made of words counts 2 over the share that its parts have: whoever has the name is then before
    whoever has all of its parts, even where the name is half of what is summed. Others count as much as they are rare.
    """
    return {name: rarity * (2.0 / parts[name] if name in made_of_words else 1.0) for name, rarity in rarities.items()}


def _has_number(term: str) -> bool:
    return len(term) >= _SHORTEST and _DIGIT.search(term) is not None
