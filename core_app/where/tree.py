"""A filter as a tree. The parser makes it, the stores' compilers and the evaluator read it."""

from __future__ import annotations

from dataclasses import dataclass

#: What metadata can be compared with.
Scalar = str | int | float | bool
Operand = Scalar | tuple[Scalar, ...]


@dataclass(frozen=True)
class Compare:
    """One condition on one key of the metadata or, where `field` is None, on the text.

    `operator` is a name of the operator table, `$eq` and so on; `operand` is what the table says it takes.
    """

    field: str | None
    operator: str
    operand: Operand


@dataclass(frozen=True)
class And:
    """All parts hold; at least one part."""

    parts: tuple[Where, ...]


@dataclass(frozen=True)
class Or:
    """Some part holds; at least one part."""

    parts: tuple[Where, ...]


@dataclass(frozen=True)
class Not:
    """The part does not hold. Every condition holds or does not: there is no third value."""

    part: Where


@dataclass(frozen=True)
class Within:
    """The document is in this collection. Nothing that is sent holds it: it tells filters of one name apart."""

    collection_id: int


Where = Compare | And | Or | Not | Within
