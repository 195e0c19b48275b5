"""What is shown of what was found: each passage once, in what stands around it, not too much of one document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from collections_app.models import Chunk
from collections_app.parents import Parent, parent_of, parent_texts
from collections_app.selectors import chunks_by_id
from collections_app.surroundings import section_around, whole_document, window_around
from search_app.asking import Expansion

#: Characters of one result; what is longer is cut around its passage.
MOST_SHOWN = 20_000


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A passage, and the stretch of its document that is shown for it; None shows the passage itself."""

    chunk: Chunk
    frame: Parent | None
    is_cut: bool = False

    def holds(self, chunk: Chunk) -> bool:
        """Whether the other passage can be read in this result."""
        return (
            self.frame is not None
            and chunk.document_id == self.frame.document_id
            and chunk.start_offset is not None
            and chunk.end_offset is not None
            and self.frame.start <= chunk.start_offset
            and chunk.end_offset <= self.frame.end
        )


def chosen(
    *,
    ranked: Sequence[int],
    limit: int,
    expand: Expansion | None = None,
    group_size: int | None = None,
    has_time: Callable[[], bool] = lambda: True,
    guests: Mapping[int, Chunk] = MappingProxyType({}),
) -> list[Shown]:
    """The best passages that no better one shows already, at most `limit`; `ranked` are chunk ids, best first.

    `guests` are those that no table has.

    With a `group_size` at most so many of one document, `limit` documents, and those of one document together,
    in the place of their best. Further ones are read only where too few were left and there is time, each time twice
    as many.
    """
    shown: list[Shown] = []
    of_document: Counter[object] = Counter()
    start, count = 0, limit
    while start < len(ranked) and not _is_full(len(shown), of_document, limit, group_size):
        if shown and not has_time():
            break
        batch = ranked[start : start + count]
        chunks = {**chunks_by_id(chunk_ids=batch), **guests}
        present = [chunks[chunk_id] for chunk_id in batch if chunk_id in chunks]
        while present:
            fitting, present = _split(present, of_document, limit, group_size)
            before = len(shown)
            frames = _frames(fitting, expand)
            for chunk in fitting:
                if any(other.holds(chunk) for other in shown):
                    continue
                of_document[_document(chunk)] += 1
                shown.append(_cut(Shown(chunk=chunk, frame=frames[chunk.pk])))
            if len(shown) - before == len(fitting):
                break  # none of the rest has got room
        start, count = start + count, 2 * count
    if group_size is None:
        return shown[:limit]
    places = {document: place for place, document in enumerate(of_document)}
    return sorted(shown, key=lambda one: places[_document(one.chunk)])


def count_results(shown: Sequence[Shown], *, group_size: int | None) -> int:
    """How many there are as `limit` counts them: passages or, with a `group_size`, documents."""
    return len(shown if group_size is None else {_document(one.chunk) for one in shown})


def texts_around(shown: Sequence[Shown]) -> dict[Parent, str]:
    """The texts of the frames that show more than their passage."""
    frames = [
        one.frame
        for one in shown
        if one.frame is not None and (one.frame.start, one.frame.end) != (one.chunk.start_offset, one.chunk.end_offset)
    ]
    return parent_texts(parents=frames)


def _document(chunk: Chunk) -> object:
    """What it is grouped by: a chunk that was stored directly is a document of its own."""
    return chunk.document_id or ("chunk", chunk.pk)


def _is_full(count: int, of_document: Mapping[object, int], limit: int, group_size: int | None) -> bool:
    if group_size is None:
        return count >= limit
    return len(of_document) >= limit and all(found >= group_size for found in of_document.values())


def _split(
    chunks: Sequence[Chunk], of_document: Mapping[object, int], limit: int, group_size: int | None
) -> tuple[list[Chunk], list[Chunk]]:
    """Those that there is room for if all of them are shown, and the others: finding what stands around takes time."""
    if group_size is None:
        return list(chunks), []
    counts = Counter(of_document)
    fitting: list[Chunk] = []
    others: list[Chunk] = []
    for chunk in chunks:
        document = _document(chunk)
        if _fits(document, counts, limit, group_size):
            counts[document] += 1
            fitting.append(chunk)
        else:
            others.append(chunk)
    return fitting, others


def _fits(document: object, of_document: Mapping[object, int], limit: int, group_size: int) -> bool:
    if document in of_document:
        return of_document[document] < group_size
    return len(of_document) < limit


def _frames(chunks: Sequence[Chunk], expand: Expansion | None) -> dict[int, Parent | None]:
    if expand is None:
        return {chunk.pk: parent_of(chunk) for chunk in chunks}
    if expand.kind == "document":
        around = whole_document(chunks=chunks)
    elif expand.kind == "section":
        around = section_around(chunks=chunks)
    else:
        around = window_around(chunks=chunks, size=expand.size)
    return {chunk.pk: around.get(chunk.pk) for chunk in chunks}


def _cut(shown: Shown) -> Shown:
    frame, chunk = shown.frame, shown.chunk
    if frame is None or frame.end - frame.start <= MOST_SHOWN:
        return shown
    assert chunk.start_offset is not None
    assert chunk.end_offset is not None
    spare = max(MOST_SHOWN - (chunk.end_offset - chunk.start_offset), 0)
    start = max(frame.start, min(chunk.start_offset - spare // 2, frame.end - MOST_SHOWN))
    end = min(frame.end, max(start + MOST_SHOWN, chunk.end_offset))
    return replace(shown, frame=replace(frame, start=start, end=end), is_cut=True)
