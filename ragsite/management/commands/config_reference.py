"""`manage.py config_reference`: the configuration page of the docs, written from the settings model."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any, get_args

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from pydantic import SecretStr
from pydantic.alias_generators import to_pascal
from pydantic.fields import FieldInfo

from core_app.config import AppSettings

HEADER = """# Configuration

<!-- Written by `manage.py config_reference` from core_app/config.py; edit that, then run it again. -->

Settings are read from `appsettings.json`, then `appsettings.{Environment}.json`, then the environment;
the later wins. The environment's name is `RAGSITE_ENVIRONMENT`, `Development` unless set. In the
environment two underscores stand between the levels: `Search__Candidates=200`.

An unknown key or a bad value stops the start with a line that names it. `manage.py settings` prints what
is in effect, secrets masked. Outside Development a start without `Security:SecretKey`,
`Security:AllowedHosts` and `ConnectionStrings:RagDatabase` is refused.

Three variables stand for themselves: `RAGSITE_ENVIRONMENT`, `RAGSITE_DATA` (the folder that holds all
state of an embedded server, `var` unless set), and `USE_HYBRID_SEARCH` (`true`, `1` or `yes` switch
hybrid search on, anything else off; it wins over `Search:UseHybridSearch`).
"""


class Command(BaseCommand):
    help = "Write docs/configuration.md from the settings model; --check only compares."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="fail when the page is out of date")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        path = settings.BASE_DIR / "docs" / "configuration.md"
        page = render()
        if not check:
            path.write_text(page, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != page:
            raise CommandError("docs/configuration.md is out of date: run manage.py config_reference.")


def render() -> str:
    """The whole page as Markdown."""
    return "\n".join([HEADER, *_sections()])


def _sections() -> Iterator[str]:
    for section, field in AppSettings.model_fields.items():
        model: Any = field.annotation
        yield f"## {to_pascal(section)}\n"
        yield f"{model.__doc__}\n"
        yield "| key | type | default | what it does |"
        yield "|---|---|---|---|"
        for name, info in model.model_fields.items():
            yield f"| `{to_pascal(name)}` | {_type(info)} | {_default(info)} | {info.description} |"
        yield ""


def _type(info: FieldInfo) -> str:
    annotation = info.annotation
    names = {bool: "true or false", int: "integer", float: "number", str: "text", SecretStr: "secret text"}
    if annotation in names:
        bounds = [str(part) for part in info.metadata if str(part)]
        return names[annotation] if not bounds else f"{names[annotation]} ({', '.join(map(_bound, info.metadata))})"
    arguments = get_args(annotation)
    if SecretStr in arguments:
        return names[SecretStr]
    if arguments and all(isinstance(part, str) for part in arguments):
        return " or ".join(f"`{part}`" for part in arguments)
    return "list of text"


def _bound(constraint: object) -> str:
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    for attribute, word in words.items():
        if hasattr(constraint, attribute):
            return f"{word} {getattr(constraint, attribute)}"
    for attribute, word in {"min_length": "at least", "max_length": "at most"}.items():
        if hasattr(constraint, attribute):
            length = getattr(constraint, attribute)
            return f"{word} {length} character{'' if length == 1 else 's'}"
    return str(constraint)


def _default(info: FieldInfo) -> str:
    if info.default is None:
        return "none"
    if info.default == ():
        return "empty"
    return f"`{str(info.default).lower() if isinstance(info.default, bool) else info.default}`"
