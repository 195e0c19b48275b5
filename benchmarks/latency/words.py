"""The lexical leg beside bm25s and tantivy, which hold their index in memory."""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.latency.figures import Series, Way, percentile, table, turn_about
from benchmarks.latency.loading import Loaded
from benchmarks.latency.texts import Library
from core_app.snapshot import snapshot
from core_app.wiring import app_settings
from search_app.corpora import bm25_of
from stores_app.lexical.analysis import document_terms, query_terms

#: What a search asks a leg for.
DEPTH = 100
WORDS = (3, 6, 12)
#: Beside them, queries of any length up to this.
_FEW = 6
_WARM = 10
MISSING = (
    "{name} is not installed here, so it is left out. Make an environment that has it beside Ragsite's own packages: "
    "see docs/benchmarks.md, Latency."
)


def measure(loaded: Loaded, library: Library, *, queries: int) -> str:
    """Times by the number of words, and by how much the best scores differ from those of bm25s.

    Each query is asked twice: Ragsite keeps in memory what it read of the index, as the others keep all of it.
    """
    tokens = [document_terms(text, loaded.collection.language) for text in loaded.texts]
    ways: dict[str, Way[str]] = {"Ragsite": ours(loaded)}
    notes = [
        f"{len(loaded):,} chunks in {loaded.segments} segments, {sum(map(len, tokens)) / len(tokens):.0f} terms each, "
        f"{len({term for found in tokens for term in found}):,} different ones; the best {DEPTH} of {queries} queries."
    ]
    for name, make in {"bm25s": _bm25s, "tantivy": _tantivy}.items():
        if find_spec(name) is None:
            notes.append(MISSING.format(name=name))
        else:
            ways[name] = make(tokens, loaded.collection.language)
    rows, differences = [], []
    for label, asked in _asked(library, queries).items():
        first = turn_about(ways, asked[_WARM:], warm=asked[:_WARM])["Ragsite"]
        found = turn_about(ways, asked[_WARM:])
        rows.append([label, f"{_postings(first):,.0f}", f"{first.p50:.2f}", *_cells(found)])
        if "bm25s" in found:
            differences += _differences(found)
    head = ["words", "postings of a query", "Ragsite p50 when first asked, ms", "asked again, ms", "p95"]
    for name in list(ways)[1:]:
        head += [f"{name} p50, ms", "p95", f"ratio of p50 to {name}"]
    if differences:
        notes.append(f"Largest difference of a query's best score from that of bm25s: {max(differences):.1e}.")
    return "\n\n".join(["### Words", notes[0], table(head, rows), *notes[1:]])


def _asked(library: Library, count: int) -> dict[str, list[str]]:
    """Queries by how many words they have, with some more to begin with."""
    mixed = [library.queries(count + _WARM, words=words) for words in range(1, _FEW + 1)]
    found = {f"1 to {_FEW}": [mixed[number % _FEW][number] for number in range(count + _WARM)]}
    return found | {str(words): library.queries(count + _WARM, words=words) for words in WORDS}


def ours(loaded: Loaded) -> Way[str]:
    """The leg as a search calls it, within a snapshot that is open already."""
    bm25 = bm25_of(loaded.collection)
    return Way(
        call=lambda query: loaded.store.lexical(
            collection_ids=[loaded.collection.pk], bm25=bm25, query=query, limit=DEPTH
        ),
        within=snapshot,
    )


def _cells(found: dict[str, Series]) -> list[str]:
    own, *others = found.values()
    cells = [f"{own.p50:.2f}", f"{own.p95:.2f}"]
    for other in others:
        cells += [f"{other.p50:.2f}", f"{other.p95:.2f}", f"{own.p50 / other.p50:.2f}"]
    return cells


def _differences(found: dict[str, Series]) -> list[float]:
    """Of queries without names, which Ragsite counts more, and their parts a tenth (PART_WEIGHT)."""
    pairs = zip(found["Ragsite"].answers, found["bm25s"].answers, strict=True)
    return [
        abs(own.hits[0].score - scores[0])
        for own, (scores, has_names) in pairs
        if own.hits and not has_names and not any(term.rarity for term in own.terms)
    ]


def _postings(own: Series) -> float:
    """Of all terms of a query together, of the query in the middle."""
    return percentile([sum(term.chunks for term in found.terms) for found in own.answers], 50)


def _bm25s(tokens: list[list[str]], language: str) -> Way[str]:
    """Its own way through numpy, in this process; the query is taken apart within the measured time, as ours is."""
    section = app_settings().search
    index: Any = import_module("bm25s").BM25(method="lucene", k1=section.k1, b=section.b)
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    index.index(tokens, show_progress=False)

    def call(query: str) -> tuple[list[float], bool]:
        asked = query_terms(query, language)
        terms = [term.term for term in asked for _ in range(int(term.weight))]
        scores = index.retrieve([terms], k=DEPTH, show_progress=False).scores if terms else [[0.0]]
        return scores[0], any(term.wholes for term in asked)

    return Way(call=call)


def _tantivy(tokens: list[list[str]], language: str) -> Way[str]:
    """With its index in memory, the terms as they are, and its own k1 and b, which are Lucene's."""
    tantivy: Any = import_module("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=False, tokenizer_name="whitespace", index_option="freq")
    schema = builder.build()
    index = tantivy.Index(schema)
    index.register_tokenizer("whitespace", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    writer = index.writer(num_threads=1)
    for found in tokens:
        writer.add_document(tantivy.Document(text=" ".join(found)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def call(query: str) -> Any:
        terms = [tantivy.Query.term_query(schema, "text", term.term) for term in query_terms(query, language)]
        should = [(tantivy.Occur.Should, term) for term in terms]
        return searcher.search(tantivy.Query.boolean_query(should), DEPTH, count=False).hits

    return Way(call=call)
