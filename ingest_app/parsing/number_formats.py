"""Numbers as a spreadsheet shows them: decimals, thousands, percent, currency, leading zeros; dates as ISO."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from openpyxl.styles.numbers import (  # type: ignore[import-untyped]
    BUILTIN_FORMATS,
    is_date_format,
    is_timedelta_format,
)
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel  # type: ignore[import-untyped]

GENERAL = "General"
#: Spreadsheets keep no more of a number.
_EXACT_DIGITS = 15
_MOST_DECIMALS = 30
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)
#: A code's parts: text in quotes or after a backslash, brackets, blanks as wide as a character, fill
#: characters, exponents, digits, and any other character, which stands for itself.
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|\[(?P<bracket>[^\]]*)\]?|(?P<blank>[_*].?)|'
    r"(?P<exponent>E[-+])|(?P<digits>[0#?]+)|(?P<general>General|@)|(?P<other>.)",
    re.I | re.S,
)
_CONDITION = re.compile(r"\[[<>=]")
_LITERAL = re.compile(r'"[^"]*"|\\.|\[(?!hh?\]|mm?\]|ss?\])[^\]]*\]|_.|\*.', re.I)


@dataclass(kw_only=True)
class _Pattern:
    """One section of a format code: literals around the digits of the number, and sometimes within."""

    before: str = ""
    after: str = ""
    digits: str = ""
    inner: tuple[str, ...] = ()
    percents: int = 0
    commas: int = 0
    groups: bool = False
    has_exponent: bool = False
    is_general: bool = False

    def add(self, kind: str, text: str) -> None:
        """The next token of the section."""
        if kind == "digits" and not self.has_exponent:
            self._add_digits(text)
        elif kind == "exponent":
            self.has_exponent = True
        elif kind == "general":
            self.is_general = True
        elif kind == "bracket":
            self._add_literal(text[1:].split("-")[0] if text.startswith("$") else "")
        elif kind == "other" and text == "." and not self.after:
            self.digits += text
        elif kind == "other" and text == "," and self.digits:
            self.commas += 1
        elif kind in ("quoted", "escaped", "other"):
            self.percents += kind == "other" and text == "%"
            self._add_literal(text)

    def _add_literal(self, text: str) -> None:
        if self.digits or self.is_general:
            self.after += text
        else:
            self.before += text

    def _add_digits(self, text: str) -> None:
        if self.after:
            # Digits on both sides of a literal: a telephone number, or a fraction, which is shown plainly.
            self.is_general = self.is_general or "/" in self.after or "." in self.digits
            self.inner = (*(self.inner or (self.digits,)), self.after, text)
            self.after = ""
        elif self.commas and "." not in self.digits:
            self.groups, self.commas = True, 0
        self.digits += text


def builtin_code(number: int) -> str:
    """The code of a format that files name by its number alone."""
    if 27 <= number <= 36 or 50 <= number <= 58:
        return "yyyy-mm-dd"  # dates of East Asian editions
    return str(BUILTIN_FORMATS.get(number, GENERAL))


def shown_number(text: str, code: str, *, from_1904: bool = False) -> str:
    """A number as it stands in a file, as its format code shows it. Codes that are not understood show it plainly."""
    if code == GENERAL and len(text) <= _EXACT_DIGITS and text.isdecimal():
        return text  # most numbers of most sheets
    try:
        value = float(text)
    except ValueError:
        return text
    if value != value or value in (float("inf"), float("-inf")):
        return text
    if _is_date(code):
        return _shown_date(value, code, from_1904=from_1904)
    if code in (GENERAL, "@", ""):
        return _plain(text, value)
    return _shown(text, value, code)


def shown_date(value: dt.date | dt.datetime | dt.time | dt.timedelta, code: str) -> str:
    """ISO 8601, and of date and time only what the code shows."""
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, dt.datetime):
        bare = _LITERAL.sub("", code.split(";")[0]).lower()
        if not re.search("[hs]", bare):
            return value.date().isoformat()
        has_date = bool(re.search("[dy]", bare))
        return f"{value.date()} {_clock(value.time())}" if has_date else _clock(value.time())
    return _clock(value) if isinstance(value, dt.time) else value.isoformat()


@lru_cache(maxsize=1000)
def _is_date(code: str) -> bool:
    return bool(is_date_format(code))


def _clock(time: dt.time) -> str:
    return time.isoformat("seconds" if time.second else "minutes")


def _shown_date(value: float, code: str, *, from_1904: bool) -> str:
    epoch = MAC_EPOCH if from_1904 else WINDOWS_EPOCH
    try:
        return shown_date(from_excel(value, epoch, timedelta=is_timedelta_format(code)), code)
    except (OverflowError, ValueError):
        return "#" * 8  # what a spreadsheet shows of such a date


def _plain(text: str, value: float) -> str:
    if re.fullmatch(r"-?\d{1,15}", text):
        return text
    return str(int(value)) if value.is_integer() and abs(value) < 10**_EXACT_DIGITS else format(value, ".15G")


def _shown(text: str, value: float, code: str) -> str:
    patterns = _patterns(code)
    index = 0
    if value < 0 and len(patterns) > 1:
        index = 1
    elif value == 0 and len(patterns) > 2:
        index = 2
    pattern = patterns[index]
    number = _number(text, value, pattern).lstrip("-")
    # The second section brings its own sign, such as brackets.
    sign = "-" if value < 0 and index == 0 and re.search("[1-9]", number) else ""
    return sign + " ".join(f"{pattern.before}{number}{pattern.after}".split())


def _number(text: str, value: float, pattern: _Pattern) -> str:
    if pattern.is_general:
        return _plain(text, value)
    if not pattern.digits:
        return ""
    whole, _, decimals = pattern.digits.partition(".")
    most, least = min(len(decimals), _MOST_DECIMALS), len(decimals.rstrip("#?"))
    if pattern.has_exponent:
        return f"{value:.{most}E}"
    exact = Decimal(format(value, ".15G")).scaleb(2 * pattern.percents - 3 * pattern.commas, _EXACT)
    rounded = f"{exact.quantize(Decimal(1).scaleb(-most), context=_EXACT).copy_abs():f}"
    before, _, after = rounded.partition(".")
    before = before.lstrip("0").rjust(whole.count("0"), "0")
    after = after[:least] + after[least:].rstrip("0")
    if pattern.inner:
        return _filled(before, pattern.inner)
    if pattern.groups:
        before = f"{int(before):,}".rjust(len(before)) if before else before
    return f"{before}.{after}" if after else before


def _filled(digits: str, inner: tuple[str, ...]) -> str:
    """Digits from the right into groups with literals between, as in a telephone number."""
    parts: list[str] = []
    for piece in reversed(inner):
        if piece[0] not in "0#?":
            parts.append(piece)
        else:
            parts.append(digits[-len(piece) :])
            digits = digits[: -len(piece)]
    return digits + "".join(reversed(parts))


@lru_cache(maxsize=1000)
def _patterns(code: str) -> tuple[_Pattern, ...]:
    """For numbers: all or those above zero, below zero, zero."""
    patterns = [_Pattern()]
    if _CONDITION.search(code):
        return (_Pattern(is_general=True),)
    for token in _TOKEN.finditer(code):
        kind = token.lastgroup or "other"
        if token[0] == ";":
            patterns.append(_Pattern())
        else:
            patterns[-1].add(kind, token[kind])
    return tuple(patterns[:3])
