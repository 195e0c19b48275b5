"""Source code as written; its definitions are headings, so that passages are whole functions and classes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import accumulate, islice
from pathlib import PurePosixPath

import psutil
from tree_sitter import Language, Node, Parser, Tree

from ingest_app.parsing.decoding import decode
from ingest_app.parsing.document import Heading, ParsedDocument, check_extent, one_line, stem, title_from
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.grammars import GRAMMARS, Grammar
from ingest_app.parsing.languages import LANGUAGES
from ingest_app.parsing.media_types import SOURCE_CODE, extension_of

#: What is longer was written by a program: nobody looks for its definitions.
MAX_PARSED = 2_000_000
# Grammars take half a second and 30 MB of memory for a megabyte of code; for hostile text they take all there is.
_MAX_SECONDS = 5.0
_MAX_MEMORY = 256 * 1024 * 1024
_MEMORY_CHECK_SECONDS = 0.01
# A grammar frees what it holds of each open bracket by recursion, on the stack of the process.
_MAX_NESTING = 1000
_OPENING = b"([{"
_NO_BRACKETS = bytes(set(range(256)) - set(b"([{}])"))
_PIECE = 64 * 1024
# Getters, constants and members of interfaces read better together. Closing brackets do not count.
_MIN_LINES = 3
_MAX_DEPTH = 60
_MAX_NAME = 100
_LANGUAGE_COOKIE = re.compile(rb"\A(?:[^\n]*\n)?[ \t]*(?:#|//|--)[^\n]{0,200}?coding[:=][ \t]*([-\w.]{1,40})")
# C and C++ share the extension .h.
_CPP_ONLY = re.compile(r"^[ \t]*(?:class\s+\w+|namespace\b|template\s*<|(?:public|private|protected)\s*:)", re.M)
_CLOSING_LINE = re.compile(r"(?:[})\]].*|(?:end|endif|fi|done|esac)\b.*|#\s*endif.*|\W*)\Z")
_FUNCTIONS = {"arrow_function", "function_expression", "generator_function", "class"}
#: Of what may be assigned to: the fields with the name and the value.
_ASSIGNMENTS = {
    "assignment_expression": ("left", "right"),
    "field_definition": ("property", "value"),
    "public_field_definition": ("name", "value"),
    "variable_declarator": ("name", "value"),
}


@dataclass(kw_only=True)
class _Definition:
    """Rows count from 0; the first is that of the comment above, the last is part of it."""

    first: int
    last: int
    text: str
    inner: list[_Definition] = field(default_factory=list)


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from source code, named like its file, with the programming language as a property."""
    cookie = _LANGUAGE_COOKIE.match(content[:1000])
    text = decode(content, declared=cookie[1].decode("ascii", "replace") if cookie else None)
    if text is None:
        raise UnableToParse("The file is not text: save it as UTF-8 and upload it again.", "corrupt_file")
    check_extent(text)
    file_name = PurePosixPath(name.replace("\\", "/")).name
    language = LANGUAGES.get(extension_of(name), "")
    if language == "c" and file_name.lower().endswith(".h") and _CPP_ONLY.search(text):
        language = "cpp"
    title = title_from(candidates=[file_name], name=stem(name))
    return ParsedDocument(
        text=text,
        media_type=SOURCE_CODE,
        title=title,
        headings=_headings(text, language=language, title=title),
        properties={"language": language} if language else {},
    )


def _headings(text: str, *, language: str, title: str) -> tuple[Heading, ...]:
    grammar = GRAMMARS.get(language)
    source = text.encode()
    if grammar is None or len(source) > MAX_PARSED or _is_nested_too_deeply(source):
        return ()
    tree = _tree(source, language)
    if tree is None:
        return ()
    lines = text.split("\n")
    return _Outline(lines).write(list(_Finder(grammar, source, lines).within(tree.root_node)), title=title)


def _is_nested_too_deeply(source: bytes) -> bool:
    """By its brackets, those in strings and comments too: code has a thousandth of that depth."""
    depth = 0
    for bracket in source.translate(None, _NO_BRACKETS):
        depth = depth + 1 if bracket in _OPENING else max(0, depth - 1)
        if depth > _MAX_NESTING:
            return True
    return False


@cache
def _language(name: str) -> Language:
    grammar = GRAMMARS[name]
    return Language(getattr(import_module(grammar.module), grammar.entry)())


def _tree(source: bytes, language: str) -> Tree | None:
    """The syntax tree, with errors where the code has some; None where it takes too long or too much memory."""
    process = psutil.Process()
    now = time.monotonic()
    most, deadline, next_check = process.memory_info().rss + _MAX_MEMORY, now + _MAX_SECONDS, now

    def is_too_much(_offset: int, _has_error: bool) -> bool:
        nonlocal next_check
        now = time.monotonic()
        if now < next_check:
            return False
        next_check = now + _MEMORY_CHECK_SECONDS
        return now > deadline or bool(process.memory_info().rss > most)

    try:
        return Parser(_language(language)).parse(
            lambda offset, _: source[offset : offset + _PIECE], progress_callback=is_too_much
        )
    except ValueError:  # it was told to stop
        return None


class _Finder:
    """Finds the definitions in a syntax tree."""

    def __init__(self, grammar: Grammar, source: bytes, lines: Sequence[str]) -> None:
        self._grammar = grammar
        self._names = _Names(source)
        self._lines = lines

    def within(self, node: Node, depth: int = 0, lead: int = -1) -> Iterator[_Definition]:
        """The definitions in a node, each from the comments and attributes directly above it.

        `lead` is the row where those above the node itself start.
        """
        cursor = node.walk()
        lead_end, before = node.start_point.row, -1
        goes_on = depth < _MAX_DEPTH and cursor.goto_first_child()
        while goes_on:
            child = cursor.node
            goes_on = cursor.goto_next_sibling()
            if child is None:
                continue
            first, last = _rows(child)
            if first > lead_end + 1:
                lead = -1
            if child.type in self._grammar.leads:
                # A comment at the end of a line belongs to that line.
                if first > before:
                    lead, lead_end = (first if lead < 0 else lead), last
                continue
            yield from self._at(child, depth, first if lead < 0 else lead)
            lead, before = -1, last

    def _at(self, node: Node, depth: int, first: int) -> Iterator[_Definition]:
        """What a node comes to that starts, with what leads it, in row `first`."""
        grammar, kind = self._grammar, node.type
        start, last = _rows(node)
        if kind in grammar.wrappers:
            found = list(self.within(node, depth + 1))
            if found:
                found[0].first, found[-1].last = first, last
            yield from found
        elif kind in grammar.blocks or kind == "ERROR":
            yield from self.within(node, depth + 1, first)
        elif kind in grammar.holders:
            inner = list(self.within(node, depth + 1))
            if inner or self._is_long(start, last):
                text = self._names.heading(node, grammar.holders[kind])
                yield _Definition(first=first, last=last, text=text, inner=inner)
        elif kind in grammar.leaves:
            text = self._names.heading(node, grammar.leaves[kind]) if self._is_long(start, last) else ""
            if text:
                yield _Definition(first=first, last=last, text=text)

    def _is_long(self, first: int, last: int) -> bool:
        rows = range(first, last + 1)
        return len(rows) >= _MIN_LINES and len(list(islice(_telling(rows, self._lines), _MIN_LINES))) == _MIN_LINES


def _telling(rows: Iterable[int], lines: Sequence[str]) -> Iterator[int]:
    """The rows that say something, which blank lines and closing brackets do not."""
    return (row for row in rows if not _CLOSING_LINE.match(lines[row].strip()))


def _rows(node: Node) -> tuple[int, int]:
    """The first and the last row; what ends before a line's first character does not reach into it."""
    first, end = node.start_point.row, node.end_point
    return first, max(first, end.row - 1 if end.column == 0 else end.row)


class _Names:
    """What definitions are called in headings."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    def heading(self, node: Node, word: str) -> str:
        """Such as `class Parser`; where the grammar gives no name, the first line. Nothing for other assignments."""
        if node.type in _ASSIGNMENTS:
            return self._assigned(node)
        name = self._name(node)
        return f"{word} {name}" if name else self._line(node).rstrip("{(: ")

    def _name(self, node: Node) -> str:
        part = node.child_by_field_name
        if node.type == "impl_item":
            return " for ".join(self._line(found) for found in (part("trait"), part("type")) if found)
        if found := part("name"):
            owner = part("receiver") or (part("object") if node.type == "singleton_method" else None)
            between = " " if part("receiver") else "."
            return (self._line(owner) + between if owner else "") + self._line(found)
        declared = part("value") if node.type == "singleton_class" else part("declarator")
        while declared is not None and (inner := _declared(declared)) is not None:
            declared = inner
        return self._line(declared)

    def _assigned(self, node: Node) -> str:
        """`function name` where a function gets a name, `const name` where what is made of one does."""
        left, right = (node.child_by_field_name(part) for part in _ASSIGNMENTS[node.type])
        if left is None or right is None:
            return ""
        if right.type in _FUNCTIONS:
            return ("class " if right.type == "class" else "function ") + self._line(left)
        arguments = right.child_by_field_name("arguments") if right.type == "call_expression" else None
        takes_function = arguments is not None and any(child.type in _FUNCTIONS for child in arguments.named_children)
        return f"const {self._line(left)}" if takes_function else ""

    def _line(self, node: Node | None) -> str:
        if node is None:
            return ""
        # Not `node.text`: it reads the source a piece at a time, each time.
        text = self._source[node.start_byte : min(node.end_byte, node.start_byte + 4 * _MAX_NAME)]
        return one_line(text.decode("utf-8", "ignore").split("\n")[0])[:_MAX_NAME]


def _declared(node: Node) -> Node | None:
    """What a C declarator is wrapped around: `*f(int)` around `f(int)` around `f`."""
    if node.type in ("reference_declarator", "parenthesized_declarator"):
        return node.named_child(node.named_child_count - 1) if node.named_child_count else None
    return node.child_by_field_name("declarator")


class _Outline:
    """Definitions as headings below the file's own, whose name the title is."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        self._found: list[Heading] = []
        self._last_row = -1

    def write(self, definitions: list[_Definition], *, title: str) -> tuple[Heading, ...]:
        whole = _Definition(first=0, last=len(self._lines) - 1, text=title, inner=definitions)
        self._write_inner(whole, level=1)
        return tuple(self._found)

    def _write_inner(self, outer: _Definition, *, level: int) -> None:
        end = -1
        for definition in outer.inner:
            row = definition.first
            if end >= 0:
                self._resume(outer, end + 1, row, level=level)
            elif level > 1 and self._has_few(range(outer.first, row)):
                # Nothing but `class Parser {` stands before its first method: it goes with that.
                row, self._last_row = outer.first, outer.first - 1
            self._add(row, level + 1, definition.text)
            self._write_inner(definition, level=level + 1)
            end = definition.last
        if end >= 0:
            self._resume(outer, end + 1, outer.last + 1, level=level)

    def _resume(self, outer: _Definition, start: int, end: int, *, level: int) -> None:
        """What stands after a definition is no part of it: the outer heading once more, where it is worth one."""
        rows = range(start, end)
        if not self._has_few(rows):
            self._add(next(_telling(rows, self._lines)), level, outer.text)

    def _has_few(self, rows: range) -> bool:
        return len(list(islice(_telling(rows, self._lines), 2))) < 2

    def _add(self, row: int, level: int, text: str) -> None:
        if row > self._last_row:
            self._found.append(Heading(offset=self._starts[row], level=level, text=text))
            self._last_row = row
