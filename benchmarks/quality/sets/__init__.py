"""Judged sets built from what is installed: anybody with the locked environment makes the same ones, offline.

Most are of what two-leg search finds hard: identifiers alone and in questions, code, codes and numbers, and questions
that share no word with their answer.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.quality.beir import JudgedSet
from benchmarks.quality.sets.codes import codes
from benchmarks.quality.sets.names import identifier_questions, identifiers, mention_questions, mentions
from benchmarks.quality.sets.paraphrases import code_search, other_words, rule_reasons

#: Name of a set → what builds it.
BUILT: dict[str, Callable[[], JudgedSet]] = {
    "identifiers": identifiers,
    "identifier-questions": identifier_questions,
    "mentions": mentions,
    "mention-questions": mention_questions,
    "code-search": code_search,
    "rule-reasons": rule_reasons,
    "other-words": other_words,
    "codes": codes,
}
