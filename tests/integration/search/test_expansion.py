"""What stands around a passage, shown in its place: neighbours, section, document."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.test import Client

from collections_app.adding import NewChunk, add_chunks
from collections_app.models import Chunk, Collection, DocumentText
from collections_app.removing import delete_chunks
from collections_app.surroundings import whole_document
from search_app import showing
from search_app.asking import Expansion
from search_app.results import Hit, SearchResult
from search_app.showing import MOST_SHOWN
from tests.integration.search.asked import JSON, SMALL, codes, filled, look, passage, post, sentence, sources

pytestmark = pytest.mark.django_db

BEFORE = ("apple", "banana")
INSTALL = ("cherry", "damson")
LINUX = ("elder", "fig")
WINDOWS = ("grape",)
RUN = ("hazel", "iris")


def paragraphs(*words: str) -> str:
    return "\n\n".join(map(sentence, words))


GUIDE = "\n\n".join(
    [
        "# Guide",
        paragraphs(*BEFORE),
        "## Install",
        paragraphs(*INSTALL),
        "### Linux",
        paragraphs(*LINUX),
        "### Windows",
        paragraphs(*WINDOWS),
        "## Run",
        paragraphs(*RUN),
    ]
)
WORDS = (*BEFORE, *INSTALL, *LINUX, *WINDOWS, *RUN)


@pytest.fixture
def guide(db: None) -> Collection:
    return filled("c", {"guide.md": GUIDE}, chunking=SMALL)


def around(query: str, expand: str, **more: Any) -> SearchResult:
    return look(query, legs="lexical", expand=Expansion.parse(expand), **more)


def shown(query: str, expand: str, **more: Any) -> Hit:
    return around(query, expand, **more).hits[0]


def words_in(content: str) -> tuple[str, ...]:
    return tuple(word for word in WORDS if f"and {word} nothing" in content)


def check_place(hit: Hit) -> None:
    """`matched` is the passage, and stands where `matched_at` says."""
    assert hit.matched is not None
    assert hit.matched_at is not None
    start, end = hit.matched_at
    assert hit.content[start:end] == hit.matched == Chunk.objects.get(external_id=hit.id).text


@pytest.mark.parametrize(
    ("word", "size", "expected"),
    [
        ("elder", 1, ("damson", "elder", "fig")),
        ("elder", 2, ("cherry", "damson", "elder", "fig", "grape")),
        ("apple", 1, ("apple", "banana")),
        ("iris", 1, ("hazel", "iris")),
        ("damson", 20, WORDS),
    ],
)
def test_a_window_has_so_many_passages_on_both_sides(
    guide: Collection, word: str, size: int, expected: tuple[str, ...]
) -> None:
    hit = shown(word, f"window:{size}")
    assert words_in(hit.content) == expected
    check_place(hit)
    assert hit.matched == passage(word).text
    assert hit.content in DocumentText.objects.get().text


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("cherry", (*INSTALL, *LINUX, *WINDOWS)),
        ("damson", (*INSTALL, *LINUX, *WINDOWS)),
        ("fig", LINUX),
        ("hazel", RUN),
        ("banana", BEFORE),
    ],
)
def test_a_section_has_the_sections_in_it_and_what_stands_before_the_first_is_one(
    guide: Collection, word: str, expected: tuple[str, ...]
) -> None:
    hit = shown(word, "section")
    assert words_in(hit.content) == expected
    check_place(hit)


def test_a_section_of_one_passage_is_shown_as_it_is(guide: Collection) -> None:
    hit = shown("grape", "section")
    assert (hit.content, hit.matched, hit.matched_at) == (passage("grape").text, None, None)


def test_the_document_is_all_of_its_text(guide: Collection) -> None:
    hit = shown("elder", "document")
    assert hit.content == DocumentText.objects.get().text
    check_place(hit)


def test_without_an_expansion_the_passage_is_shown(guide: Collection) -> None:
    (hit,) = look("elder", legs="lexical").hits
    assert (hit.content, hit.matched) == (passage("elder").text, None)


def test_an_expansion_comes_before_the_collections_parents() -> None:
    filled("c", {"guide.md": GUIDE}, chunking={**SMALL, "parent_size": 60})
    assert words_in(shown("elder", "window:1").content) == ("damson", "elder", "fig")
    assert words_in(shown("elder", "document").content) == WORDS


@pytest.mark.parametrize("expand", ["window:1", "section", "document"])
def test_chunks_that_are_from_no_document_are_shown_themselves(expand: str) -> None:
    filled("c", {"guide.md": GUIDE}, chunking=SMALL)
    given = NewChunk(external_id="mine", text="A pawpaw alone.", metadata={})
    add_chunks(collection_name="c", chunks=[given], embeddings=lambda: np.ones((1, 256), np.float32))
    hit = shown("pawpaw", expand)
    assert (hit.content, hit.matched, hit.matched_at) == ("A pawpaw alone.", None, None)
    found = around("pawpaw elder", expand, top_k=5)
    assert len(found.hits) == 2


@pytest.mark.parametrize("expand", ["window:1", "section", "document"])
def test_a_document_whose_text_was_not_kept_shows_its_passages(guide: Collection, expand: str) -> None:
    DocumentText.objects.all().delete()
    found = around("elder fig", expand)
    assert {hit.content for hit in found.hits} == {passage(word).text for word in ("elder", "fig")}
    assert all(hit.matched is None for hit in found.hits)


def test_what_a_better_result_shows_already_is_not_shown_again(guide: Collection) -> None:
    found = around("elder elder elder fig hazel", "section", top_k=5)
    assert [words_in(hit.content) for hit in found.hits] == [LINUX, RUN]
    assert around("elder fig hazel", "document", top_k=5).hits[0].content == DocumentText.objects.get().text
    assert len(around("elder fig hazel", "document", top_k=5).hits) == 1


def test_windows_may_overlap_but_no_passage_is_two_results(guide: Collection) -> None:
    """Elder is in the window of damson, so it has none of its own; grape is in neither."""
    found = around("damson damson damson elder grape", "window:1", top_k=5)
    windows = {words_in(hit.content) for hit in found.hits}
    assert windows == {("cherry", "damson", "elder"), ("fig", "grape", "hazel")}


def test_places_left_by_what_was_shown_are_filled(guide: Collection) -> None:
    """`top_k` counts what is shown: further passages are read until there are as many."""
    found = around("cherry cherry cherry damson elder fig grape hazel banana", "section", top_k=3)
    assert {words_in(hit.content) for hit in found.hits} == {(*INSTALL, *LINUX, *WINDOWS), BEFORE, RUN}


class TestCut:
    @pytest.fixture
    def long(self, db: None) -> Collection:
        words = [f"w{n:03}x" for n in range(400)]
        return filled("c", {"long.md": "# Long\n\n" + "\n\n".join(map(sentence, words))}, chunking=SMALL)

    @pytest.mark.parametrize("word", ["w000x", "w001x", "w200x", "w398x", "w399x"])
    @pytest.mark.parametrize("expand", ["document", "section"])
    def test_a_long_text_is_cut_around_its_passage_and_this_is_said(
        self, long: Collection, word: str, expand: str
    ) -> None:
        found = around(word, expand)
        assert codes(found) == ["expansion_cut"]
        assert f"{MOST_SHOWN:,}" in found.warnings[0].detail
        (hit,) = found.hits
        assert len(hit.content) == MOST_SHOWN == 20_000
        check_place(hit)
        text = DocumentText.objects.get().text
        assert hit.content in text
        start, end = hit.matched_at or (0, 0)
        if word == "w200x":
            assert abs(start - (MOST_SHOWN - end)) <= 1, "as much on both sides"

    def test_passages_that_were_cut_away_are_results_of_their_own(self, long: Collection) -> None:
        found = around("w000x w001x w399x", "document", top_k=5)
        assert len(found.hits) == 2
        assert {word in hit.content for hit in found.hits for word in ("w000x", "w399x")} == {True, False}

    def test_what_is_just_as_long_as_may_be_is_not_cut(
        self, guide: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        length = len(DocumentText.objects.get().text)
        monkeypatch.setattr(showing, "MOST_SHOWN", length)
        assert codes(around("elder", "document")) == []
        monkeypatch.setattr(showing, "MOST_SHOWN", length - 1)
        found = around("elder", "document")
        assert codes(found) == ["expansion_cut"]
        assert len(found.hits[0].content) == length - 1

    def test_a_passage_longer_than_that_is_shown_whole(
        self, guide: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(showing, "MOST_SHOWN", 10)
        hit = shown("elder", "document")
        assert hit.content == passage("elder").text


class TestDeleted:
    """What was taken out must not be shown around its neighbours."""

    @pytest.mark.parametrize("expand", ["window:2", "section", "document"])
    def test_a_deleted_passage_is_not_shown(self, guide: Collection, expand: str) -> None:
        delete_chunks(collection_name="c", ids=[passage("fig").external_id])
        assert "fig" not in words_in(shown("elder", expand).content)
        assert "fig" not in words_in(shown("grape", expand).content)

    @pytest.mark.parametrize("expand", ["window:2", "section", "document"])
    def test_a_passage_whose_text_was_replaced_is_shown_alone(
        self, guide: Collection, client: Client, expand: str
    ) -> None:
        address = f"/collections/c/documents/{passage('damson').external_id}"
        answer = client.patch(address, {"text": "A pawpaw.", "embedding": [1.0] * 256}, JSON)
        assert answer.status_code == 200
        assert (shown("pawpaw", expand).content, shown("pawpaw", expand).matched) == ("A pawpaw.", None)
        for word in ("cherry", "elder"):
            assert "damson" not in words_in(shown(word, expand).content)

    def test_metadata_alone_change_nothing(self, guide: Collection, client: Client) -> None:
        address = f"/collections/c/documents/{passage('damson').external_id}"
        assert client.patch(address, {"metadata": {"mine": 1}}, JSON).status_code == 200
        assert words_in(shown("elder", "document").content) == WORDS

    def test_what_stands_on_this_side_of_it_is(self, guide: Collection) -> None:
        delete_chunks(collection_name="c", ids=[passage("fig").external_id])
        assert words_in(shown("cherry", "document").content) == (*BEFORE, *INSTALL, "elder")
        assert words_in(shown("hazel", "document").content) == (*WINDOWS, *RUN)


def test_over_http(guide: Collection, client: Client) -> None:
    (found,) = post(client, "elder", legs="lexical", expand="window:1")["results"]
    assert found["matched"] == passage("elder").text
    assert words_in(found["content"]) == ("damson", "elder", "fig")
    for wrong in ("window:0", "window:21", "page", "", 3, None):
        assert post(client, "elder", expand=wrong, status=400)["code"] in {"invalid_expand", "invalid"}


def test_what_stands_around_is_looked_for_only_where_it_is_shown(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    """Of a long document all passages may match, and a group has room for one."""
    filled("c", {"long": "\n\n".join(sentence(f"plum{n} plum") for n in range(40)), "short": "A plum."}, chunking=SMALL)
    asked: list[int] = []

    def seen(*, chunks: Any) -> Any:
        asked.append(len(chunks))
        return whole_document(chunks=chunks)

    monkeypatch.setattr("search_app.showing.whole_document", seen)
    found = look("plum", legs="lexical", top_k=2, group_size=1, expand=Expansion.parse("document"))
    assert sorted(sources(found)) == ["long", "short"]
    assert sum(asked) == 2


def test_what_a_better_result_shows_leaves_its_room_to_others(db: None) -> None:
    filled("c", {"long": "\n\n".join(sentence(f"plum{n} plum") for n in range(9))}, chunking=SMALL)
    found = look("plum4 plum", legs="lexical", top_k=1, group_size=3, expand=Expansion.parse("window:1"))
    assert len(found.hits) == 3
    assert len({hit.content for hit in found.hits}) == 3
