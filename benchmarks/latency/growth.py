"""How the times grow with the collection: all sizes stand in one database and are asked turn about."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.latency import meaning, words
from benchmarks.latency.figures import Way, grown, table, turn_about
from benchmarks.latency.loading import Material, load
from benchmarks.latency.service import whole
from core_app.wiring import embedder

_WARM = 10
#: Words of a query.
_LENGTH = 6


def measure(material: Material, sizes: Sequence[int], *, queries: int) -> tuple[str, dict[str, list[float]]]:
    """The table, and the p95 of each part by size, in the order of `sizes`."""
    asked = material.library.queries(queries + _WARM, words=_LENGTH, seed=19)
    vectors = {text: embedder().embed_query(text) for text in asked}
    ways: dict[str, Way[str]] = {}
    for size in sizes:
        loaded = load(material, name=f"growth-{size}", count=size)
        ways[f"words {size}"] = words.ours(loaded)
        ways[f"meaning {size}"] = meaning.of_text(loaded, vectors)
        ways[f"search, fast {size}"] = whole(loaded, "fast")
    found = turn_about(ways, asked[_WARM:], warm=asked[:_WARM])
    parts = ("words", "meaning", "search, fast")
    p95s = {part: [found[f"{part} {size}"].p95 for size in sizes] for part in parts}
    rows = [
        [
            part,
            *(f"{found[f'{part} {size}'].p50:.1f} / {p95:.1f}" for size, p95 in zip(sizes, p95s[part], strict=True)),
            f"{grown(sizes, p95s[part]):.2f}",
        ]
        for part in parts
    ]
    head = ["p50 / p95, ms", *(f"{size:,}" for size in sizes), "p95 grows times"]
    note = f"{queries} queries of {_LENGTH} words; each part asks every size in turn."
    return "\n\n".join(["### Growth", note, table(head, rows)]), p95s
