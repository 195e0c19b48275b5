"""What an answer cites, held to what was retrieved: a citation counts only where the passage was there to be read."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Protocol

from answers_app.evidence import CitedSentence, Quote, RankedEvidence, Warned

#: Of one answer.
MOST_SENTENCES = 60
LONGEST_SENTENCE = 4_000
_MOST_CITED = 10
_SHOWN = 40
_QUOTATION_MARKS = str.maketrans({**dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'), "\u2018": "'", "\u2019": "'"})


class Written(Protocol):
    """A sentence as the model wrote it."""

    text: str
    sources: list[str]
    quotes: list[str]


def checked(
    sentences: Sequence[Written], evidence: Mapping[str, RankedEvidence]
) -> tuple[list[CitedSentence], list[Warned]]:
    """The sentences with what they cite of the evidence, which goes by the labels that the model was shown.

    A label that it was not shown is dropped, and so is a quotation that no cited passage has; both are told.
    """
    found: list[CitedSentence] = []
    unknown: list[str] = []
    unfound = 0
    for one in sentences[:MOST_SENTENCES]:
        text = " ".join(one.text.split())[:LONGEST_SENTENCE]
        if not text:
            continue
        labels = list(dict.fromkeys(label.strip().strip("[]") for label in one.sources))[:_MOST_CITED]
        unknown += [label for label in labels if label not in evidence]
        cited = [evidence[label].chunk for label in labels if label in evidence]
        quotes = [
            Quote(text=quote, chunk_id=next((c.chunk_id for c in cited if has_words(c.content, quote)), None))
            for quote in one.quotes[:_MOST_CITED]
            if quote.strip()
        ]
        unfound += sum(quote.chunk_id is None for quote in quotes)
        kept = [quote for quote in quotes if quote.chunk_id is not None]
        found.append(CitedSentence(text=text, chunk_ids=[chunk.chunk_id for chunk in cited], quotes=kept))
    return found, _told(found, unknown, unfound)


def has_words(text: str, quote: str) -> bool:
    """Whether a text has these words one after the other, whatever its white space, quotation marks and case."""
    return _plain(quote) in _plain(text)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.translate(_QUOTATION_MARKS).split()).strip('" ')


def _told(found: Sequence[CitedSentence], unknown: Sequence[str], unfound: int) -> list[Warned]:
    warnings = []
    if unknown:
        names = ", ".join(repr(label[:_SHOWN]) for label in unknown[:3])
        warnings.append(
            Warned(
                code="unknown_citations",
                detail=f"{len(unknown)} citations of passages that were not retrieved were dropped: {names}.",
            )
        )
    if unfound:
        warnings.append(
            Warned(
                code="unfound_quotes",
                detail=f"{unfound} quotations stand in none of the passages that are cited for them, and were dropped.",
            )
        )
    bare = sum(not sentence.chunk_ids for sentence in found)
    if bare:
        warnings.append(Warned(code="uncited_sentences", detail=f"{bare} of {len(found)} sentences cite no passage."))
    return warnings
