"""The filter language of every door: a typed tree, one table of operators, a parser and an evaluator."""

from __future__ import annotations

from core_app.where.evaluation import matches
from core_app.where.parsing import parse_where, parse_where_text
from core_app.where.tree import And, Compare, Not, Or, Where, Within
from core_app.where.writing import written

__all__ = ["And", "Compare", "Not", "Or", "Where", "Within", "matches", "parse_where", "parse_where_text", "written"]
