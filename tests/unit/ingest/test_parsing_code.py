"""Source code keeps its text; its definitions are the sections, and every passage's section is true."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ingest_app.chunking.sections import sections
from ingest_app.parsing import ParsedDocument, parse, source_code

ROOT = Path(source_code.__file__).parents[2]


def outline(parsed: ParsedDocument) -> list[tuple[str, str]]:
    """The section path of every stretch, and its first line."""
    return [
        (" > ".join(section.path), parsed.text[section.start : section.end].strip().split("\n")[0])
        for section in sections(parsed)
    ]


def read(name: str, code: str) -> ParsedDocument:
    return parse(name=name, content=code.encode())


PYTHON = '''\
"""About."""
import os

# Reads things.
# Slowly.
class Parser(Base):
    """A parser."""

    @property
    def name(self):
        return self._name

    # How it reads.
    @cache
    async def parse(self, text):
        if text:
            def inner():
                return 1
        return inner()

    limit = 3
    other = 4


def main():
    parser = Parser()
    parser.parse("")
    # done

if __name__ == "__main__":
    print("☃")
    main()
'''


def test_definitions_are_sections_and_the_text_stays_as_written() -> None:
    parsed = read("src/My Parser.py", PYTHON)
    assert (parsed.text, parsed.title, parsed.media_type) == (PYTHON, "My Parser.py", "text/x-source")
    assert (parsed.is_markdown, parsed.properties) == (False, {"language": "python"})
    assert outline(parsed) == [
        ("", '"""About."""'),
        ("class Parser", "# Reads things."),
        ("class Parser > def parse", "# How it reads."),
        ("class Parser", "limit = 3"),
        ("def main", "def main():"),
        ("", 'if __name__ == "__main__":'),
    ]
    assert "".join(parsed.text[s.start : s.end] for s in sections(parsed)) == PYTHON


def test_small_definitions_stay_together() -> None:
    code = "class Shape:\n" + "".join(
        f"    def get_{n}(self):\n        return {n}\n    SIDE_{n} = 1\n" for n in range(300)
    )
    parsed = read("a.py", code)
    assert [heading.text for heading in parsed.headings] == ["class Shape"]
    many = read("a.py", "\n".join(f"LIMIT_{n} = {n}" for n in range(500)))
    assert many.headings == ()


def test_what_follows_a_definition_is_not_said_to_be_in_it() -> None:
    parsed = read(
        "a.js", "class A {\n  m() {\n    a();\n    b();\n  }\n  x = 1;\n  y = 2;\n}\nexports.A = A;\nrun();\n"
    )
    assert outline(parsed) == [("class A > method m", "class A {"), ("class A", "x = 1;"), ("", "exports.A = A;")]


def test_comments_belong_to_what_they_stand_above() -> None:
    code = "a := 1 // of a\nfunc F() {\n\tx()\n\ty()\n}\n\n// apart\n\n// of G\n// too\nfunc G() {\n\tx()\n\ty()\n}\n"
    assert outline(read("a.go", "package p\n" + code)) == [
        ("", "package p"),
        ("func F", "func F() {"),
        ("func G", "// of G"),
    ]


CODE = {
    "a.sh": ("# Says hello.\nhello() {\n  echo a\n  echo b\n}\nhello\nhello\n", ["function hello", ""]),
    "a.c": (
        "#ifdef A\nstruct list {\n  int a;\n  int b;\n};\n#endif\nstatic char *f(int a,\n  int b)\n{\n  return 0;\n}\n",
        ["struct list", "function f"],
    ),
    "a.h": (
        "namespace n {\nclass C {\n public:\n  int a() {\n    x();\n    return 1;\n  }\n};\n}\n",
        ["namespace n", "class C", "function a"],
    ),
    "a.cpp": (
        "template <class T>\nclass C {\n public:\n  C() {\n    x();\n    y();\n  }\n};\n"
        "const T& C::get(int a)\n{\n  x();\n  return 1;\n}\n",
        ["class C", "function C", "function C::get"],
    ),
    "a.cs": (
        "namespace N.M {\n[A]\npublic class C<T> : D {\n  public int P {\n    get;\n    set;\n  }\n"
        "  void F() {\n    a();\n    b();\n  }\n}\n}\n",
        ["namespace N.M", "class C", "property P", "method F"],
    ),
    "a.go": (
        "type (\n  A struct {\n    x int\n    y int\n  }\n)\nfunc (p *Parser) Parse() {\n  x()\n  y()\n}\n",
        ["type A", "func (p *Parser) Parse"],
    ),
    "A.java": (
        "/** Doc. */\n@E\npublic class A extends B {\n  A() {\n    x();\n    y();\n  }\n"
        "  @Override\n  public int get() {\n    return 1;\n  }\n  enum K { X }\n}\n",
        ["class A", "constructor A", "method get"],
    ),
    "a.js": (
        "export const f = async (a) => {\n  x();\n  y();\n};\nmodule.exports.g = function () {\n  x();\n  y();\n};\n"
        "const C = memo(() => {\n  x();\n  y();\n});\nexport default function () {\n  x();\n  y();\n}\n",
        ["function f", "function module.exports.g", "const C", "function ()"],
    ),
    "a.php": (
        "<?php\nnamespace N;\n#[A]\nabstract class C {\n  function f() {\n    x();\n    y();\n  }\n}\n",
        ["class C", "function f"],
    ),
    "a.rb": (
        "module A\n  # Doc\n  class B::C < D\n    def x\n      1\n      2\n    end\n    def self.y(a)\n"
        "      1\n      2\n    end\n  end\nend\n",
        ["module A", "class B::C", "def x", "def self.y"],
    ),
    "a.rs": (
        "/// Doc\n#[derive(Debug)]\npub struct P<T> {\n  x: T,\n  y: T,\n}\nimpl<T> Display for P<T> {\n  /// Doc\n"
        "  fn fmt(&self) -> R {\n    a();\n    b()\n  }\n}\n",
        ["struct P", "impl Display for P<T>", "fn fmt"],
    ),
    "a.scala": (
        "package a\n/** Doc */\nobject X {\n  def y(a: Int): Int = {\n    a\n    1\n  }\n}\n",
        ["object X", "def y"],
    ),
    "a.ts": (
        "namespace N {\n  export interface I {\n    a: string;\n    b: number;\n  }\n}\n@C({\n  a: 1,\n})\n"
        "export abstract class D<T> {\n  @H()\n  async run(): Promise<void> {\n    x();\n    y();\n  }\n"
        "  h = () => {\n    x();\n    y();\n  };\n}\ntype U =\n  | 1\n  | 2;\n",
        ["namespace N", "interface I", "class D", "method run", "function h", "type U"],
    ),
    "a.tsx": (
        "export function App(p: P) {\n  const a = 1;\n  return <div>{a}</div>;\n}\n",
        ["function App"],
    ),
}


@pytest.mark.parametrize("name", CODE)
def test_every_language_names_its_definitions(name: str) -> None:
    code, expected = CODE[name]
    parsed = read(name, code)
    assert [heading.text if heading.text != name else "" for heading in parsed.headings] == expected
    assert all(heading.offset == 0 or code[heading.offset - 1] == "\n" for heading in parsed.headings)
    assert [heading.offset for heading in parsed.headings] == sorted(heading.offset for heading in parsed.headings)
    assert "".join(code[s.start : s.end] for s in sections(parsed)) == code


@pytest.mark.parametrize("extension", ["kt", "lua", "pl", "r", "sql", "swift"])
def test_languages_without_a_grammar_are_text(extension: str) -> None:
    parsed = read(f"a.{extension}", "fun f() {\n  a()\n  b()\n}\n")
    assert parsed.headings == ()
    assert parsed.properties["language"] != ""


def test_syntax_errors_cost_at_most_the_headings_around_them() -> None:
    parsed = read(
        "a.py", "def good():\n    a\n    b\n\ndef bad(:\n  ]]]\n\nclass Fine:\n    def f(self):\n        a\n        b\n"
    )
    assert "def good" in [heading.text for heading in parsed.headings]
    assert read("a.java", "class { { ( public void ;;; @ \x00 }").text


def test_encodings_are_those_of_any_text_and_a_declared_one() -> None:
    assert parse(name="a.py", content="# é\n".encode("utf-16")).text == "# é\n"
    declared = "# -*- coding: iso-8859-5 -*-\n# Привет\n"
    assert parse(name="a.py", content=declared.encode("iso-8859-5")).text == declared
    crlf = parse(name="a.py", content=b"x = 1\r\ndef f():\r\n    a\r\n    b\r\n")
    assert outline(crlf) == [("", "x = 1"), ("def f", "def f():")]


def test_long_names_and_lines_are_cut() -> None:
    parsed = read("a.py", f"def {'x' * 5000}():\n    a\n    b\n")
    assert len(parsed.headings[0].text) <= 200


HOSTILE = [
    ("a.c", "(" * 2_000_000),
    ("a.js", "{" * 2_000_000),
    ("a.java", "{(" * 900_000),
    ("a.ts", "a<" * 900_000),
    ("a.rb", "".join("#{}$<a@'\"/|%w"[(i * 7919 + i // 3 * 31) % 13] for i in range(200_000))),
    ("a.py", "def f():\n" + " " * 1_000_000 + "x\n"),
    ("a.py", "class A:\n" + "".join(" " * n + "class A:\n" for n in range(1, 1200))),
    ("a.go", "x" * 20_000_001),
]


@pytest.mark.parametrize(("name", "code"), HOSTILE, ids=[f"{name} {code[:8]!r}" for name, code in HOSTILE])
def test_hostile_code_is_text_or_refused_soon(name: str, code: str) -> None:
    # In a child, because what goes wrong in a grammar ends its process.
    script = (
        "import sys\nfrom ingest_app.parsing import UnableToParse, parse\n"
        "try:\n    print(len(parse(name=sys.argv[1], content=sys.stdin.buffer.read()).text))\n"
        "except UnableToParse as error:\n    print(error.code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, name], input=code.encode(), cwd=ROOT, capture_output=True, timeout=60, check=True
    )
    assert done.stdout.decode().strip() == ("too_large" if len(code) > 20_000_000 else str(len(code)))


def test_more_code_than_people_write_is_left_without_headings() -> None:
    function = "def f():\n    a\n    b\n"
    assert read("a.py", function * 1000).headings
    assert read("a.py", function * (source_code.MAX_PARSED // len(function) + 1)).headings == ()


def test_only_the_grammar_that_is_needed_is_loaded() -> None:
    script = (
        "import sys\nfrom ingest_app.parsing import parse\nparse(name='a.go', content=b'package a')\n"
        "print(sorted(name for name in sys.modules if name.startswith('tree_sitter_') and '.' not in name))\n"
    )
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['tree_sitter_go']"
