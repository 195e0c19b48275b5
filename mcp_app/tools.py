"""The tools: each a call of a service on what the caller reaches."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import Field

from access_app.models import Verb
from answers_app.research import ITERATIONS, MAX_TOPIC, MOST_ITERATIONS, research
from collections_app.describing import description_of
from collections_app.fields import observed_fields
from collections_app.reading import get_chunk
from collections_app.selectors import get_summary, list_documents, list_names, list_summaries
from core_app.errors import NotFound
from mcp_app import results
from mcp_app.calling import caller, reached
from search_app.results import Hit
from search_app.serializers import MAX_QUERY_LENGTH
from search_app.services import MOST_COLLECTIONS, search_collections

DEFAULT_LIMIT, MOST_HITS = 5, 20
#: Of a text in a list; the whole is fetched.
_BEGINNING = 400
_LONGEST = 100_000

Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_LENGTH, description="What to look for.")]
CollectionName = Annotated[str, Field(max_length=512, description="A collection by its name, see list_collections.")]


def search_docs(
    query: Query,
    thoroughness: Annotated[
        Literal["fast", "balanced", "thorough"] | None, Field(description="How much is done; balanced unless given.")
    ] = None,
    limit: Annotated[int, Field(ge=1, le=MOST_HITS)] = DEFAULT_LIMIT,
    collection: Annotated[str | None, Field(max_length=512, description="Only there; everywhere unless given.")] = None,
) -> results.DocsFound:
    """Search the documents by meaning and exact words; gives the passages that answer best."""
    found = search_collections(
        collection_names=_where(collection), query=query, mode=thoroughness, top_k=limit, asked_by=caller.get().name
    )
    return results.DocsFound(
        results=[
            results.DocsHit(
                content=hit.content,
                source=_source(hit),
                section=str(hit.metadata["section"] or ""),
                relevance=_percent(hit.metadata["similarity_score"]),
            )
            for hit in found.hits
        ],
        warnings=[results.Warned(code=one.code, detail=one.detail) for one in found.warnings],
    )


def search(query: Query) -> results.SearchFound:
    """Search all documents; gives ids for `fetch` with titles and the beginnings of passages."""
    found = search_collections(collection_names=_where(None), query=query, top_k=10, asked_by=caller.get().name)
    return results.SearchFound(
        results=[
            results.Found(
                id=_id(hit.collection, hit.id),
                title=_title(hit),
                url=_url(hit.metadata, hit.collection, hit.id),
                text=hit.content[:_BEGINNING],
            )
            for hit in found.hits
        ]
    )


def fetch(id: Annotated[str, Field(max_length=2_000, description="As `search` gave it.")]) -> results.Fetched:  # noqa: A002
    """The whole text of a passage that `search` found, with its metadata."""
    name, slash, external_id = id.partition("/")
    if not slash:
        raise NotFound("There is no passage of this id. Use one that `search` gave.", code="document_not_found")
    chunk = get_chunk(collection_name=reached(Verb.READ, name), external_id=external_id)
    return results.Fetched(
        id=id,
        title=str(chunk.metadata.get("title") or chunk.metadata.get("source") or external_id),
        text=chunk.text[:_LONGEST],
        url=_url(chunk.metadata, name, external_id),
        metadata=dict(chunk.metadata),
    )


def list_collections() -> results.ListedCollections:
    """The collections that can be searched, with what each is about."""
    who = caller.get()
    who.require(Verb.READ)
    return results.ListedCollections(
        collections=[
            results.ListedCollection(
                name=one.collection.name, description=description_of(one.collection), chunks=one.count
            )
            for one in list_summaries()
            if who.reaches(one.collection.name)
        ]
    )


def describe_collection(name: CollectionName) -> results.DescribedCollection:
    """What a collection holds: its size, and the fields of its metadata with their most frequent values."""
    summary = get_summary(name=reached(Verb.READ, name))
    fields = observed_fields(collection_name=name)
    return results.DescribedCollection(
        name=summary.collection.name,
        description=description_of(summary.collection),
        metadata=dict(summary.collection.metadata),
        language=summary.collection.language,
        chunks=summary.count,
        documents=list_documents(collection=summary.collection).count(),
        fields=[
            results.DescribedField(
                name=one.name,
                types={str(kind): count for kind, count in one.types.items()},
                values=[results.ValueCounted(value=value.value, count=value.count) for value in one.values],
                operators=one.operators,
            )
            for one in fields.fields
        ],
        is_sample=fields.is_sample,
    )


def research_topic(
    topic: Annotated[str, Field(min_length=1, max_length=MAX_TOPIC, description="What is to be found out.")],
    maxIterations: Annotated[int, Field(ge=1, le=MOST_ITERATIONS)] = ITERATIONS,  # noqa: N803 - spec C's name
) -> results.Researched:
    """Research a topic that one search does not cover: by sub-queries, and by others while too little was found."""
    who = caller.get()
    who.require(Verb.RESEARCH)
    found = research(topic=topic, collections=_where(None), max_iterations=maxIterations, asked_by=who.name)
    return results.Researched(
        topic=found.topic,
        searchesPerformed=found.searches_performed,
        findings=[
            results.Finding(content=hit.content, source=_source(hit), section=str(hit.metadata["section"] or ""))
            for hit in found.findings
        ],
        warnings=[results.Warned(code=one.code, detail=one.detail) for one in found.warnings],
    )


def _where(collection: str | None) -> list[str]:
    """The collections that are searched. Raises NotAllowed, and NotFound where the caller reaches none."""
    if collection is not None:
        return [reached(Verb.SEARCH, collection)]
    who = caller.get()
    who.require(Verb.SEARCH)
    names = [name for name in list_names() if who.reaches(name)][:MOST_COLLECTIONS]
    if not names:
        raise NotFound("There is no collection that this key reaches.", code="collection_not_found")
    return names


def _id(collection: str, external_id: str) -> str:
    """No collection has a slash in its name."""
    return f"{collection}/{external_id}"


def _source(hit: Hit) -> str:
    return str(hit.metadata["source"] or hit.id)


def _title(hit: Hit) -> str:
    section = str(hit.metadata["section"] or "")
    return f"{_source(hit)} > {section}" if section else _source(hit)


def _url(metadata: object, collection: str, external_id: str) -> str:
    """Of the source where that has one, else the passage's own name."""
    source = str(metadata.get("source") or "") if isinstance(metadata, dict) else ""
    if source.startswith(("http://", "https://")):
        return source
    return f"ragsite://{quote(collection, safe='')}/{quote(external_id, safe='')}"


def _percent(similarity: float | None) -> str:
    return "" if similarity is None else f"{similarity:.0%}"
