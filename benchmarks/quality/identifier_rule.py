"""Rare exact identifiers in a query: what they count in BM25, and how much more words then count than meaning.

An identifier is a term that stands for a whole name (`hook.player.connected`), or one with a digit (`E501`), that the
collection knows and that is no plain number. It is rare by min(1, RARE / df): wholly in up to RARE chunks, half in
twice as many.

    weight(t) = w(t) (1 + rarity(t) (max(BOOST, DOMINANCE rest / (mass(t) part(t))) - 1))       mass(t) = w(t) idf(t)
    share     = sum over identifiers of rarity(t) mass'(t) / sum over all terms of mass'(t)
    lexical weight of the fusion = LEAST + (MOST - LEAST) share

`rest` is the mass of all that is no identifier, and mass' the mass with the new weights; `part` is that of
`stores_app.lexical.names`. So a rare one counts at least BOOST times, and as much as all other words together. A query
without one is standard BM25 and weighs both legs alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.quality.words import Words
from search_app.weighing import OF_NAMES, USUAL
from stores_app.lexical import names
from stores_app.lexical.analysis import QueryTerm, weights


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The constants; unless said otherwise those of the search itself."""

    rare: float = names.RARE
    boost: float = names.BOOST
    dominance: float = 1
    least: float = USUAL
    most: float = OF_NAMES


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """A query's terms as BM25 should count them, and the weight of the lexical leg."""

    terms: Mapping[str, float]
    lexical_weight: float


def weigh(words: Words, text: str, rule: Rule) -> Weighed:
    """Apply the rule to a query."""
    asked = words.asked(text)
    plain = weights(asked, words)
    known = {term: weight for term, weight in plain.items() if term in words}
    rarities = {term: min(1.0, rule.rare / words.df(term)) for term in identifiers(asked, words)}
    masses = {term: weight * words.idf(term) for term, weight in known.items()}
    rest = sum(mass for term, mass in masses.items() if term not in rarities)
    least = {term: words.impacts(term).least for term in names.made_of_words(asked, rarities)}
    parts = names.parts(rarities, least=least)
    boosts = {
        term: 1 + rarity * (max(rule.boost, rule.dominance * rest / masses[term] / parts[term]) - 1)
        for term, rarity in rarities.items()
    }
    raised = {term: mass * boosts.get(term, 1.0) for term, mass in masses.items()}
    whole = sum(raised.values())
    share = sum(rarity * raised[term] for term, rarity in rarities.items()) / whole if whole else 0.0
    return Weighed(
        terms={term: weight * boosts.get(term, 1.0) for term, weight in known.items()},
        lexical_weight=rule.least + (rule.most - rule.least) * share,
    )


def identifiers(asked: list[QueryTerm], words: Words) -> set[str]:
    """The terms of a query that name something the collection knows, as the search itself has it."""
    known = {term for asked_term in asked for term in (asked_term.term, *asked_term.wholes) if term in words}
    return set(names.rarities(asked, {term: words.df(term) for term in known}))
