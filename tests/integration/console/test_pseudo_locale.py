"""Every page in a language that puts each translated text into ⟦⟧: what is outside, no translator gets to see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.conf import LazySettings
from django.utils.translation import trans_real

from tests.architecture.wording import NAMES, SPOKEN
from tests.integration.console.conftest import Login, make_rows, pages

#: Users' texts have no Latin letters here, but for these.
TEXT = "鴨 魚"
NAME = "n1"
#: Names, units, and values as the API has them.
KNOWN = {
    *(word for name in NAMES for word in re.findall(r"[A-Za-z]{2,}", name)),
    *("user", "pgvector", "ms", "MB", "GB", "nDCG", "cli", "root", "string"),
    # Modes, fusions, warnings and stages, by the names that requests have.
    *("fast", "balanced", "thorough", "rrf", "words"),
}
VALUES = (
    "viewer",
    "editor",
    "operator",
    "read",
    "ingest",
    '{"source": "guide.md"}',
    "first message (raw query)",
    "no_embedder",
    # What a provider says of its service, as the API has it.
    "The remote server cannot be reached. Check its address.",
    # What another server's clients look for.
    "Cross-encoder not loaded. Start server with --cross-encoder flag.",
)
_UUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{12}\b")
#: Django's own format of this language: `22-a de ⟦November⟧ 2026, je 22:48`.
_DATE = re.compile(r"\b\d+-a de\b|\bje (?=\d)")
_LATIN = re.compile(r"[A-Za-z]{2,}")


class Pseudo(trans_real.DjangoTranslation):
    """Puts every text into brackets instead of translating it."""

    def gettext(self, message: str) -> str:
        return f"⟦{message.rpartition(chr(4))[2]}⟧" if message else ""

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


@pytest.fixture
def pseudo(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.LANGUAGES = [("en", "English"), ("eo", "Pseudo")]
    monkeypatch.setitem(vars(trans_real)["_translations"], "eo", Pseudo("eo"))


class Page(HTMLParser):
    """Collects texts and spoken attributes, less what stands in brackets."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.left: list[str] = []
        self._depth = 0
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        for name, value in attrs:
            if name in SPOKEN or (name == "value" and given.get("type") in {"submit", "button", "reset"}):
                self.left.append(outside(value or "", 0)[0])
        icon = "material-symbols-outlined" in (given.get("class") or "")
        # Before and after are shown as they are stored.
        stored = "rs-audit__changes" in (given.get("class") or "")
        silent = bool(self._silent) or icon or stored or tag in {"script", "style", "code", "pre", "kbd", "textarea"}
        if silent and tag not in {"input", "br", "hr", "img", "link", "meta"}:
            self._silent.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            del self._silent[len(self._silent) - 1 - self._silent[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        text, self._depth = outside(data, self._depth)
        if not self._silent:
            self.left.append(text)


def outside(text: str, depth: int) -> tuple[str, int]:
    kept = ""
    for character in text:
        depth += {"⟦": 1, "⟧": -1}.get(character, 0)
        kept += character if depth == 0 and character != "⟧" else ""
    return kept, depth


def left_over(html: str) -> Iterator[str]:
    """Texts with words that are neither in brackets nor names, values or units."""
    page = Page()
    page.feed(html)
    page.close()
    for text in page.left:
        words = text
        for sentence in VALUES:
            words = words.replace(sentence, "")
        for known in (_UUID, _DATE):
            words = known.sub("", words)
        if set(_LATIN.findall(words)) - KNOWN:
            yield text.strip()


@pytest.mark.django_db
def test_no_page_has_words_that_cannot_be_translated(login: Login, pseudo: None) -> None:
    rows = make_rows(name=NAME, text=TEXT)
    root = login(superuser=True)
    found: dict[str, str] = {}
    for path in ["", *pages(rows)]:
        answer = root.get(f"/admin/{path}", headers={"Accept-Language": "eo"})
        assert answer.status_code == 200, path
        assert "⟦" in answer.content.decode() or path.endswith("log/"), path
        found |= dict.fromkeys(left_over(answer.content.decode()), path)
    assert found == {}


@pytest.mark.django_db
def test_the_api_stays_in_english(login: Login, pseudo: None) -> None:
    rows = make_rows(name=NAME, text=TEXT)
    root = login(superuser=True)
    for path in (
        f"/api/rag/jobs/{rows.job.pk}",
        "/api/rag/jobs",
        "/collections",
        "/collections/nowhere",
        "/health/ready",
    ):
        answer = root.get(path, headers={"Accept-Language": "eo"})
        assert answer.content == root.get(path).content, path
        assert "⟦" not in answer.content.decode(), path


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<p>Nothing</p>", ["Nothing"]),
        ("<p>⟦Some <b>bold</b> text⟧ left</p>", ["left"]),
        ('<a title="To the top">⟦Up⟧</a>', ["To the top"]),
        ("<p>⟦a ⟦b⟧ c⟧</p><code>pip</code><p>120 ms</p>", []),
    ],
)
def test_words_outside_are_found(html: str, found: list[str]) -> None:
    assert list(left_over(html)) == found
