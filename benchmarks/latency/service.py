"""The search service beside the parts that it cannot do without: embedding the query, and the slower leg."""

from __future__ import annotations

from itertools import chain

from benchmarks.latency import meaning, words
from benchmarks.latency.figures import Way, percentile, table, turn_about
from benchmarks.latency.loading import Loaded
from benchmarks.latency.texts import Library
from core_app.wiring import embedder
from search_app.modes import MODE_NAMES, ModeName
from search_app.results import STANDING
from search_app.services import search

_WARM = 12


def measure(loaded: Loaded, library: Library, *, queries: int) -> str:
    """Times of the parts and of whole searches, of the same queries; nothing is left out when a mode's time is over."""
    each = -(-(queries + _WARM) // len(words.WORDS))
    by_length = [library.queries(each, words=count, seed=17) for count in words.WORDS]
    asked = list(chain.from_iterable(zip(*by_length, strict=True)))[: queries + _WARM]
    vectors = {text: embedder().embed_query(text) for text in asked}
    ways: dict[str, Way[str]] = {
        "embedding": Way(call=embedder().embed_query),
        "words": words.ours(loaded),
        "meaning": meaning.of_text(loaded, vectors),
        **{mode: whole(loaded, mode) for mode in MODE_NAMES},
    }
    found = turn_about(ways, asked[_WARM:], warm=asked[:_WARM])
    least = [
        embedding + max(one, other)
        for embedding, one, other in zip(
            found["embedding"].times, found["words"].times, found["meaning"].times, strict=True
        )
    ]
    rows = [[name, f"{series.p50:.1f}", f"{series.p95:.1f}", ""] for name, series in found.items()]
    half, most = percentile(least, 50), percentile(least, 95)
    rows.insert(3, ["embedding + slower leg", f"{half:.1f}", f"{most:.1f}", ""])
    for row in rows[4:]:
        row[0], row[3] = f"search, {row[0]}", f"{found[row[0]].p50 / half:.2f}"
    # All else is part of how this server is set up, such as that it has no reranker.
    codes = [{one.code for one in result.warnings} for mode in MODE_NAMES for result in found[mode].answers]
    warned = sum(bool(said - STANDING) for said in codes)
    lengths = ", ".join(map(str, words.WORDS))
    return "\n\n".join(
        [
            "### The whole service",
            f"{len(loaded):,} chunks, {queries} queries of {lengths} words in turn, none of them embedded before; "
            f"{warned} searches with a warning.",
            table(["", "p50, ms", "p95", "ratio of p50"], rows),
        ]
    )


def whole(loaded: Loaded, mode: ModeName) -> Way[str]:
    """A search by words and meaning."""
    return Way(call=lambda text: search(collection_name=loaded.collection.name, query=text, mode=mode, legs="hybrid"))
