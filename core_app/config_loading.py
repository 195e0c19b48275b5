"""Reads the settings: files first, then the environment; every mistake is one line that names its place."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic.alias_generators import to_pascal

from core_app.config import ENVIRONMENT_VARIABLE, HYBRID_WORDS, AppSettings

DEVELOPMENT = "Development"
MASK = "********"

Document = dict[str, Any]


class ConfigurationError(Exception):
    """The configuration cannot be used; `lines` say why, one mistake each."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True, kw_only=True)
class LoadedSettings:
    """The effective settings, the environment's name, and what is worth a warning."""

    environment: str
    values: AppSettings
    warnings: tuple[str, ...]

    @property
    def is_development(self) -> bool:
        return self.environment == DEVELOPMENT


def load_settings(*, folder: Path, environ: Mapping[str, str] | None = None) -> LoadedSettings:
    """Merge `appsettings.json`, `appsettings.{Environment}.json` and the environment, and validate.

    Raises ConfigurationError with one line a mistake: unknown keys, bad values, unreadable files, and
    outside Development a missing secret key, host list or database.
    """
    environ = os.environ if environ is None else environ
    environment = environ.get(ENVIRONMENT_VARIABLE, "").strip() or DEVELOPMENT
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", environment):
        raise ConfigurationError([f"{ENVIRONMENT_VARIABLE}: use letters, digits, '-' and '_' only."])
    merged: Document = {}
    origins: dict[str, str] = {}
    for name in ("appsettings.json", f"appsettings.{environment}.json"):
        _merge(merged, _read_file(folder / name), origins, origin=name)
    for variable, path, value in _from_environment(environ):
        _merge(merged, _nested(path, value), origins, origin=f"environment variable {variable}")
    warnings = _apply_hybrid_word(merged, environ)
    _apply_cross_encoder(merged, environ)
    try:
        values = AppSettings.model_validate(merged, by_alias=True, by_name=False)
    except ValidationError as error:
        raise ConfigurationError(list(_lines(error, origins))) from None
    if environment != DEVELOPMENT and (missing := list(_missing_for_production(values))):
        raise ConfigurationError([f"{line} (environment {environment})" for line in missing])
    return LoadedSettings(environment=environment, values=values, warnings=tuple(warnings))


def masked(settings: AppSettings) -> Document:
    """The settings as they would stand in a file, every secret replaced by asterisks."""

    def show(section: object) -> Any:
        if isinstance(section, SecretStr):
            return MASK
        return section

    dumped = settings.model_dump(by_alias=True)
    return {name: {key: show(value) for key, value in keys.items()} for name, keys in dumped.items()}


def _read_file(path: Path) -> Document:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError([f"{path.name}: cannot be read ({type(error).__name__})."]) from None
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            [f"{path.name}: not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}."]
        ) from None
    except (ValueError, RecursionError):
        raise ConfigurationError([f"{path.name}: holds a number too long or is nested too deeply."]) from None
    if not isinstance(content, dict):
        raise ConfigurationError([f"{path.name}: must hold one JSON object."])
    return content


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, list[str], Any]]:
    """Variables such as `Search__Candidates`; the case of the names does not matter."""
    sections = {to_pascal(name).lower(): to_pascal(name) for name in AppSettings.model_fields}
    for variable, text in sorted(environ.items()):
        section, separator, rest = variable.partition("__")
        if not separator or section.lower() not in sections:
            continue
        name = sections[section.lower()]
        yield variable, [name, _known_key(name, rest)], _value(text)


def _known_key(section: str, key: str) -> str:
    field = next((f for n, f in AppSettings.model_fields.items() if to_pascal(n) == section), None)
    model = field.annotation if field else None
    names = getattr(model, "model_fields", {})
    return next((to_pascal(n) for n in names if to_pascal(n).lower() == key.lower()), key)


def _value(text: str) -> Any:
    if text[:1] in "[{" and text:
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text
    return text


def _nested(path: list[str], value: Any) -> Document:
    for key in reversed(path):
        value = {key: value}
    return dict(value)


def _merge(into: Document, new: Document, origins: dict[str, str], *, origin: str, place: str = "") -> None:
    for key, value in new.items():
        here = f"{place}:{key}" if place else key
        if isinstance(value, dict) and isinstance(into.get(key, {}), dict):
            _merge(into.setdefault(key, {}), value, origins, origin=origin, place=here)
        else:
            into[key] = value
        origins[here] = origin


def _apply_hybrid_word(merged: Document, environ: Mapping[str, str]) -> list[str]:
    """USE_HYBRID_SEARCH wins over the files; a word that is not known means meaning alone (B2.1, B2.4)."""
    word = environ.get("USE_HYBRID_SEARCH")
    if word is None:
        return []
    section = merged.setdefault("Search", {})
    if not isinstance(section, dict):
        return []
    enabled = word.strip().lower() in HYBRID_WORDS
    section["UseHybridSearch"] = enabled
    if enabled or word.strip().lower() in {"false", "0", "no"}:
        return []
    return ["USE_HYBRID_SEARCH has an unknown value: hybrid search is off. Use true, 1 or yes to enable it."]


def _apply_cross_encoder(merged: Document, environ: Mapping[str, str]) -> None:
    """CROSS_ENCODER_MODEL wins over the files, a path in them included (A11.3, A11.4)."""
    name = environ.get("CROSS_ENCODER_MODEL", "").strip()
    section = merged.setdefault("Rerank", {}) if name else None
    if isinstance(section, dict):
        section.update(CrossEncoder=name, CrossEncoderPath="")


def _lines(error: ValidationError, origins: Mapping[str, str]) -> Iterator[str]:
    for mistake in error.errors():
        unknown = mistake["type"] == "extra_forbidden"
        parts = [str(part) for part in mistake["loc"]]
        # A default that does not fit the other values is reported by its attribute.
        place = ":".join(part if unknown or "_" not in part else to_pascal(part) for part in parts)
        origin = origins.get(place) or origins.get(":".join(parts[:2]))
        where = f" ({origin})" if origin else ""
        if unknown:
            yield f"{place}: unknown setting; check its spelling or remove it{where}."
        elif mistake["type"] == "model_type":
            yield f"{place}: must be a JSON object with the section's settings{where}."
        else:
            yield f"{place}: {mistake['msg'].removeprefix('Value error, ')}{where}."


def _missing_for_production(values: AppSettings) -> Iterator[str]:
    secret = values.security.secret_key
    if secret is None or len(secret.get_secret_value()) < 32:
        yield "Security:SecretKey: set one of at least 32 random characters, e.g. `openssl rand -base64 48`"
    if not values.security.allowed_hosts:
        yield 'Security:AllowedHosts: name the hosts this server answers to, e.g. ["rag.example.org"]'
    elif "*" in values.security.allowed_hosts:
        yield "Security:AllowedHosts: '*' answers to any host name; name the hosts instead"
    database = values.connection_strings.rag_database
    if database is None or not database.get_secret_value().strip():
        yield "ConnectionStrings:RagDatabase: set it to postgresql://user:password@host/database"
