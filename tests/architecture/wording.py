"""Finds words for people that no translator would get to see, in templates and in Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser

from django.template.base import DebugLexer, TokenType

#: Names stay as they are in every language.
NAMES = {"Ragsite", "UTC", "BM25", "RRF", "nDCG@10", "curl", "Python"}
#: Attributes that are read or heard; `value` is one on buttons alone.
SPOKEN = {"title", "aria-label", "aria-description", "placeholder", "alt", "label", "summary", "data-busy"}
#: What stands in these is code, or the name of an icon.
_SILENT = {"script", "style", "code", "pre", "kbd", "samp"}
_VOID = {"input", "br", "hr", "img", "link", "meta", "col", "wbr", "source", "area", "base", "embed", "track"}
_ENTITY = re.compile(r"&#?\w+;")
_FILTER = re.compile(r"\|\s*(default|default_if_none|yesno|pluralize|add)\b(?::\s*(_\()?[\"']([^\"']*)[\"'])?")
_WORDED = re.compile(r"\b(title|label|text|heading|placeholder|caption|description)=[\"']([^\"']*)[\"']")

TRANSLATORS = {
    "_",
    "gettext",
    "gettext_lazy",
    "gettext_noop",
    "ngettext",
    "ngettext_lazy",
    "pgettext",
    "pgettext_lazy",
    "npgettext",
    "npgettext_lazy",
}
#: Arguments, variables and keys that people read.
READ = {
    "label",
    "help_text",
    "title",
    "subtitle",
    "description",
    "empty_title",
    "empty_text",
    "empty_label",
    "search_help_text",
    "short_description",
    "verbose_name",
    "verbose_name_plural",
    "placeholder",
    "message",
    "SITE_SUBHEADER",
}
_SENTENCE = re.compile(r"(?<![\w-])[A-Za-z,'\u2019]+ [a-z]+(?![\w-])|^[A-Z][a-z]+[.:…]?$")
#: Addresses with their parts, which are no HTML, and programs to copy.
_ROUTE = re.compile(r"<(?:int|str|slug|uuid|path):\w+>")
_PROGRAM = re.compile(r"import \w+\n")
#: Calls whose words no page shows, or only within an error's sentence, which is English; `detail` is one.
_UNREAD_CALLS = {"cast", "path", "TypeVar", "reject_unstorable"}
_UNREAD_OWNERS = {"logger", "detail"}


def _has_words(text: str) -> bool:
    """Letters that are no name and no JSON."""
    plain = _ENTITY.sub("", text).strip(" |·:,")
    return any(letter.isalpha() for letter in plain) and plain not in NAMES and not plain.startswith(("{", "["))


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[int, str]] = []
        self._silent: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        icon = "material-symbols-outlined" in (given.get("class") or "")
        for name, value in attrs:
            spoken = name in SPOKEN or (name == "value" and given.get("type") in {"submit", "button", "reset"})
            if spoken and value and _has_words(value):
                self.found.append((self.getpos()[0], f"{name}: {value.strip()}"))
        if tag not in _VOID:
            self._silent.append((tag, icon or tag in _SILENT))

    def handle_endtag(self, tag: str) -> None:
        # Branches of a template may open an element twice and close it once.
        open_tags = [name for name, _ in self._silent]
        if tag in open_tags:
            del self._silent[len(open_tags) - 1 - open_tags[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if any(silent for _, silent in self._silent):
            return
        for offset, line in enumerate(data.splitlines()):
            if _has_words(line):
                self.found.append((self.getpos()[0] + offset, line.strip()))


def in_template(source: str) -> list[tuple[int, str]]:
    """Line and words of every text, spoken attribute or filter of a template that is not marked for translation."""
    found: list[tuple[int, str]] = []
    kept: list[str] = []
    within = ""
    for token in DebugLexer(source).tokenize():
        lines = token.contents.count("\n")
        if token.token_type is TokenType.BLOCK:
            name = token.split_contents()[0]
            if within:
                within = "" if name == f"end{within}" else within
            elif name in {"blocktranslate", "blocktrans", "comment"}:
                within = name
        if token.token_type is TokenType.TEXT:
            # What a block of translation holds keeps its line breaks, for the numbers of the lines below it.
            kept.append("\n" * lines if within else token.contents)
            continue
        kept.append(" " + "\n" * lines)
        if token.token_type is not TokenType.COMMENT:
            found += [(token.lineno or 0, words) for words in _in_token(token.contents)]
    page = _Page()
    page.feed("".join(kept))
    page.close()
    return sorted(found + page.found)


def _in_token(contents: str) -> Iterator[str]:
    """Words given to a filter or to a tag that shows them."""
    for name, marked, words in _FILTER.findall(contents):
        if name == "pluralize":
            yield "pluralize: use {% blocktranslate count %}"
        elif not marked and _has_words(words):
            yield f"{name}: {words}"
    if not contents.startswith(("translate ", "trans ", "blocktranslate ", "url ", "static ")):
        yield from (f"{name}: {words}" for name, words in _WORDED.findall(contents) if _has_words(words))
    if shown := re.match(r"label\s+[\"']([^\"']+)", contents):
        yield f"label: {shown.group(1)}"


def in_python(source: str) -> list[tuple[int, str]]:
    """Line and words of every string for people that is not marked, or is put together from pieces."""
    tree = ast.parse(source)
    finder = _Strings()
    finder.visit(tree)
    return sorted(set(finder.found))


class _Strings(ast.NodeVisitor):
    """Walks past docstrings, logs and what is marked; everything read like a sentence is found."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []
        self._shown = False

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._see(node.value, shown=_called(node.target) in READ)

    def visit_Assign(self, node: ast.Assign) -> None:
        value = node.value
        keywords = value.keywords if isinstance(value, ast.Call) else []
        is_field = isinstance(value, ast.Call) and (_called(value.func) or "").endswith("Field")
        if is_field and not any(keyword.arg == "label" or _is_hidden(keyword) for keyword in keywords):
            self._add(node, f"{_called(node.targets[0])}: a field without a label= is called by its name")
        self._see(value, shown=any(_called(target) in READ for target in node.targets))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if not any(_called(base) == "AppConfig" for base in node.bases):
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        # The sentences of errors are English; those of forms are not of that kind.
        if isinstance(node.exc, ast.Call) and _called(node.exc.func) == "ValidationError":
            self.visit(node.exc)

    def visit_Assert(self, node: ast.Assert) -> None:
        self.visit(node.test)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        self._see(node.slice, shown=False)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for inner in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults, *node.body]:
            if inner is not None:
                self.visit(inner)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            named = key.value if isinstance(key, ast.Constant) else None
            if key is not None:
                self._see(key, shown=False)
            self._see(value, shown=self._shown or named in READ)

    def visit_Call(self, node: ast.Call) -> None:
        name = _called(node.func) or ""
        if name in TRANSLATORS:
            for given in node.args[:2] if name.startswith("n") else node.args[:1]:
                if not isinstance(given, ast.Constant):
                    self._add(node, f"{name}() takes one whole string")
            return
        owner = _called(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if owner in _UNREAD_OWNERS or name in _UNREAD_CALLS:
            return
        if owner is not None:
            self.visit(node.func)
        tells = owner == "messages" or name in {"add_error", "ValidationError"}
        for place, given in enumerate(node.args):
            if name == "add_error" and place == 0:
                continue  # the field, by the name it has in the code
            self._see(given, shown=tells or (self._shown and name == "str") or (name == "label" and place == 0))
        for keyword in node.keywords:
            self._see(keyword.value, shown=keyword.arg in READ)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Add) and (_is_marked(node.left) or _is_marked(node.right)):
            self._add(node, "glued from translated pieces: use one string with %(name)s in it")
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        if any(_is_marked(part.value) for part in node.values if isinstance(part, ast.FormattedValue)):
            self._add(node, "glued from translated pieces: use one string with %(name)s in it")
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        self._judge(node, text)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._judge(node, node.value)

    def _see(self, node: ast.expr, *, shown: bool) -> None:
        before, self._shown = self._shown, shown
        self.visit(node)
        self._shown = before

    def _judge(self, node: ast.expr, text: str) -> None:
        if _ROUTE.search(text) or _PROGRAM.match(text):
            return
        if "<" in text:
            page = _Page()
            page.feed(text.replace("{}", ""))
            page.close()
            self.found += [(node.lineno, words) for _, words in page.found]
        elif (self._shown and _has_words(text.replace("{}", ""))) or (_SENTENCE.search(text) and text not in NAMES):
            self._add(node, text)

    def _add(self, node: ast.AST, text: str) -> None:
        self.found.append((getattr(node, "lineno", 0), text))


def _called(node: ast.AST) -> str | None:
    """The last part of a dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _is_hidden(keyword: ast.keyword) -> bool:
    """Whether this makes a field that nobody sees."""
    return (
        keyword.arg == "widget"
        and isinstance(keyword.value, ast.Call)
        and _called(keyword.value.func) in {"HiddenInput", "MultipleHiddenInput"}
    )


def _is_marked(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _called(node.func) in TRANSLATORS
