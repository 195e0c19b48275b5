"""What one language contributes to analysis: its stop words and its stemmer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache

import Stemmer  # type: ignore[import-not-found] # compiled, without stubs
from stop_words import (  # type: ignore[import-untyped]
    AVAILABLE_LANGUAGES,
    get_stop_words,
)

from core_app.errors import InvalidInput
from stores_app.lexical.folding import fold

#: No stemming and no stop words: for languages that are not listed, and for mixed ones.
SIMPLE = "simple"

#: Snowball's languages; its two algorithms that are variants of a language are left out.
LANGUAGES: tuple[str, ...] = (
    SIMPLE,
    *sorted(set(Stemmer.algorithms()) - {"porter", "dutch_porter"}),
)

#: Snowball's list (snowballstem.org/algorithms/english/stop.txt) without its contractions, of which
#: analysis leaves "ll" and "ve". On questions it is better than Lucene's 33 words. The stop-words
#: package has 1,300 for English, "computer", "system" and "world" among them.
_ENGLISH = """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves what which who whom this that these those am is
    are was were be been being have has had having do does did doing would should could ought cannot ll ve a
    an the and but if or because as until while of at by for with about against between into through during
    before after above below to from up down in out on off over under again further then once here there when
    where why how all any both each few more most other some such no nor not only own same so than too very
"""


class _Stemmers(threading.local):
    """A Snowball stemmer keeps state while it works, so that every thread needs its own."""

    def __init__(self) -> None:
        self.by_language: dict[str, Stemmer.Stemmer] = {}


_stemmers = _Stemmers()


def checked(language: str) -> str:
    """`language`, if there is analysis for it; InvalidInput otherwise."""
    if language not in LANGUAGES:
        raise InvalidInput(
            f"Words cannot be indexed in the language {language[:40]!r}. Use one of: {', '.join(LANGUAGES)}.",
            code="unknown_language",
        )
    return language


@cache
def stop_words(language: str) -> frozenset[str]:
    """The folded stop words of a language; none where no list exists."""
    if language == "english":
        return frozenset(_ENGLISH.split())
    if language not in AVAILABLE_LANGUAGES:
        return frozenset()
    # Elided forms ("dell'", "qu'") are listed with their apostrophe and met without it.
    return frozenset(fold(word.rstrip("'")) for word in get_stop_words(language))


def stem_with(language: str) -> Callable[[str], str]:
    """A function from a folded word to its stem, usable from any thread."""
    if language == SIMPLE:
        return str

    def stem(word: str) -> str:
        stemmer = _stemmers.by_language.get(language)
        if stemmer is None:
            stemmer = _stemmers.by_language[language] = Stemmer.Stemmer(language)
        return str(stemmer.stemWord(word))

    return stem
