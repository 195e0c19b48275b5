"""Public functions, classes and methods of installed packages, read with `ast` and never imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

#: Pure Python, and locked to one version whatever the Python.
PACKAGES = ("django", "rest_framework", "celery", "kombu", "redis", "click", "requests", "httpx", "jinja2", "docutils")
_LEAST_DOCSTRING = 60
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`:*])|\n\s*\n")


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A function, class or method with a docstring."""

    #: With package and module, as it would be imported.
    dotted: str
    #: `Class.method`, or the bare name of a function or class.
    qualified: str
    signature: str
    docstring: str
    #: The code without docstring and comments; empty for a class.
    body: str

    @property
    def name(self) -> str:
        return self.dotted.rpartition(".")[2]

    @property
    def first_sentence(self) -> str:
        return " ".join(_SENTENCE.split(self.docstring, maxsplit=1)[0].split())

    @property
    def rest(self) -> str:
        """The docstring without its first sentence."""
        return " ".join("".join(_SENTENCE.split(self.docstring, maxsplit=1)[1:]).split())


def definitions(source: str, *, module: str) -> list[Definition]:
    """Those of one file; names that begin with an underscore are left out, and so is what is nested in functions."""
    return list(_inside(ast.parse(source), module, ()))


def _inside(parent: ast.Module | ast.ClassDef, module: str, around: tuple[str, ...]) -> Iterator[Definition]:
    for node in parent.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        path = (*around, node.name)
        docstring = ast.get_docstring(node) or ""
        if len(docstring) >= _LEAST_DOCSTRING:
            yield Definition(
                dotted=".".join((module, *path)),
                qualified=".".join(path),
                signature=_signature(node),
                docstring=docstring,
                body="" if isinstance(node, ast.ClassDef) else "\n".join(map(ast.unparse, node.body[1:])),
            )
        if isinstance(node, ast.ClassDef):
            yield from _inside(node, module, path)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}({', '.join(ast.unparse(base) for base in node.bases)})"
    return f"def {node.name}({ast.unparse(node.args)})"


@cache
def installed() -> dict[str, Definition]:
    """All of `PACKAGES` by dotted name, without tests; of two with one name the first."""
    found: dict[str, Definition] = {}
    for package in PACKAGES:
        # Not `find_spec`, which asks modules that are imported already; some put something else in their place.
        spec = PathFinder.find_spec(package)
        if spec is None or spec.origin is None:
            raise RuntimeError(f"{package} is not installed: run script/install dev.")
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root.parent).with_suffix("").parts
            if "tests" in parts or "migrations" in parts or "locale" in parts:
                continue
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            for definition in definitions(path.read_text(encoding="utf-8"), module=module):
                found.setdefault(definition.dotted, definition)
    return found
