"""What was chosen, as hits: with what stands around it, marked and explained where that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from collections_app.models import Collection
from core_app.wiring import store
from search_app.explaining import HitExplanation
from search_app.findings import Findings
from search_app.ranking import Ranking
from search_app.results import Hit, make_hit
from search_app.showing import Shown, texts_around


def present(
    shown: Sequence[Shown],
    *,
    collections: Sequence[Collection],
    highlighted: str | None,
    findings: Findings,
    ranking: Ranking,
    explained: Mapping[int, HitExplanation],
    has_time: Callable[[], bool],
) -> list[Hit]:
    """Hits in the order given; `highlighted` is the query whose words are marked, while there is time."""
    by_id = {collection.pk: collection for collection in collections}
    around = texts_around(shown)
    hits = []
    for one in shown:
        chunk, frame = one.chunk, one.frame
        hit = make_hit(
            chunk,
            collection=by_id[chunk.collection_id].name,
            around=None if frame is None else around.get(frame),
            starts_at=0 if frame is None else frame.start,
            similarity=findings.similarities.get(chunk.pk),
            rrf_score=ranking.rrf[chunk.pk],
        )
        hits.append(replace(hit, explanation=explained.get(chunk.pk)))
    if highlighted is None:
        return hits
    marked = findings.attempt(
        "highlight_failed",
        "The words of the query could not be marked.",
        lambda: [
            _marks(by_id[one.chunk.collection_id], highlighted, hit.content) if has_time() else None
            for hit, one in zip(hits, shown, strict=True)
        ],
    )
    if marked and None in marked:
        findings.warn("highlight_cut", "There was no time to mark the words of the query in all that is shown.")
    return hits if marked is None else [replace(hit, highlights=at) for hit, at in zip(hits, marked, strict=True)]


def _marks(collection: Collection, query: str, text: str) -> Sequence[tuple[int, int]]:
    return store(collection.store).marks(language=collection.language, query=query, texts=[text])[0]
