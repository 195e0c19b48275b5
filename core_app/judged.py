"""Queries with judgements, as sets for measuring retrieval have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class JudgedQuery:
    """A query and what people judged of it."""

    id: str
    text: str
    #: By the id of the chunk; above 0 it is relevant.
    grades: Mapping[str, int]
