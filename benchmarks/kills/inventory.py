"""What a collection holds, read from its tables, and what is wrong with it beside an undisturbed one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import psycopg

_DOCUMENTS = """
SELECT document.id, source, document.state, chunk_count
FROM collections_document AS document
JOIN collections_collection AS collection ON collection.id = collection_id
WHERE collection.name = ANY(%(names)s)
"""
#: Every chunk, those without a document too; vectors of all generations count.
_CHUNKS = """
SELECT document_id, external_id, ordinal, md5(text),
    (SELECT count(*) FROM stores_vector WHERE chunk_id = chunk.id)
FROM collections_chunk AS chunk
JOIN collections_collection AS collection ON collection.id = collection_id
WHERE collection.name = ANY(%(names)s)
"""
_INDEX = """
SELECT
    (SELECT count(*) FROM stores_vector
     JOIN collections_generation AS generation ON generation.id = generation_id
     JOIN collections_collection AS collection ON collection.id = generation.collection_id
     WHERE collection.name = ANY(%(names)s)),
    (SELECT coalesce(sum(live), 0)::bigint FROM stores_segment
     JOIN collections_collection AS collection ON collection.id = collection_id
     WHERE collection.name = ANY(%(names)s) AND NOT retired)
"""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """One row of a chunk."""

    external_id: str
    ordinal: int | None
    digest: str
    vectors: int = 1


@dataclass(frozen=True, kw_only=True)
class Held:
    """One document and its chunks."""

    source: str
    state: str
    chunk_count: int
    passages: Sequence[Passage]


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """Everything in a collection."""

    documents: Sequence[Held]
    #: Chunks that belong to no document.
    stray: int = 0
    vectors: int
    #: Chunks that the word index takes for living.
    words: int

    @property
    def chunks(self) -> int:
        return sum(len(document.passages) for document in self.documents) + self.stray


@dataclass(kw_only=True)
class Verdict:
    """What is wrong: files lost, chunks that are there twice, and everything else in words."""

    lost: set[str] = field(default_factory=set)
    duplicated: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.duplicated or self.wrong)


def read(url: str, name: str) -> Inventory:
    """What the collection holds now, as one transaction sees it."""
    with psycopg.connect(url) as database:
        database.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        passages: dict[int | None, list[Passage]] = {}
        names = {"names": [name]}
        for document_id, external_id, ordinal, digest, vectors in database.execute(_CHUNKS, names):
            passage = Passage(external_id=external_id, ordinal=ordinal, digest=digest, vectors=vectors)
            passages.setdefault(document_id, []).append(passage)
        documents = [
            Held(source=source, state=state, chunk_count=count, passages=passages.pop(document_id, []))
            for document_id, source, state, count in database.execute(_DOCUMENTS, names)
        ]
        index = database.execute(_INDEX, names).fetchone()
    assert index is not None
    stray = sum(map(len, passages.values()))
    return Inventory(documents=documents, stray=stray, vectors=index[0], words=index[1])


def compare(found: Inventory, undisturbed: Inventory) -> Verdict:
    """Whether the same files gave the same passages, each once: as a row, a vector and in the word index."""
    verdict = Verdict()
    by_source: dict[str, list[Held]] = {}
    for document in found.documents:
        by_source.setdefault(document.source, []).append(document)
    for expected in undisturbed.documents:
        held = by_source.pop(expected.source, [])
        passages = [passage for document in held for passage in document.passages]
        if not held or any(document.state != "ready" for document in held) or _missing(passages, expected.passages):
            verdict.lost.add(expected.source)
        verdict.duplicated += _repeated(passages)
        verdict.wrong += _disagreements(held, passages, expected)
    verdict.wrong += [f"{source} was never sent" for source in by_source]
    every = [passage for document in found.documents for passage in document.passages]
    verdict.duplicated += found.stray + _surplus(passage.external_id for passage in every)
    verdict.duplicated += max(0, found.vectors - found.chunks) + max(0, found.words - found.chunks)
    if not found.chunks == undisturbed.chunks == found.vectors == found.words:
        counts = f"{found.chunks} chunks, {found.vectors} vectors, {found.words} in the word index"
        verdict.wrong.append(f"{counts}; undisturbed {undisturbed.chunks}")
    return verdict


def count_canaries(verdict: Verdict, hits: Mapping[str, int]) -> None:
    """Add how often each file's word was found: once is right, by source."""
    verdict.lost |= {source for source, times in hits.items() if times == 0}
    verdict.duplicated += sum(max(0, times - 1) for times in hits.values())


def _missing(passages: Sequence[Passage], expected: Sequence[Passage]) -> bool:
    return bool({(p.ordinal, p.digest) for p in expected} - {(p.ordinal, p.digest) for p in passages})


def _repeated(passages: Sequence[Passage]) -> int:
    return _surplus(passage.ordinal for passage in passages)


def _surplus(keys: Iterable[object]) -> int:
    return sum(times - 1 for times in Counter(keys).values())


def _disagreements(held: Sequence[Held], passages: Sequence[Passage], expected: Held) -> list[str]:
    source = expected.source
    wrong = []
    if len(held) > 1:
        wrong.append(f"{source} has {len(held)} documents")
    if sorted(p.ordinal if p.ordinal is not None else -1 for p in passages) != list(range(len(passages))):
        wrong.append(f"{source}: ordinals are not 0 to {len(passages) - 1}")
    if sum(document.chunk_count for document in held) != len(passages):
        wrong.append(f"{source}: chunk_count is not {len(passages)}, as many as there are")
    if any(passage.vectors != 1 for passage in passages):
        wrong.append(f"{source}: a chunk has no vector, or several")
    return wrong
