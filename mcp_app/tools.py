"""The tools: each a call of a service on what the caller reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field

from access_app.models import Verb
from answers_app.research import ITERATIONS, MAX_TOPIC, MOST_ITERATIONS, research
from collections_app.describing import description_of
from collections_app.fields import ValueCount, observed_fields
from collections_app.reading import get_chunk
from collections_app.selectors import get_summary, list_documents, list_names, list_summaries
from core_app.errors import InvalidInput, NotFound
from mcp_app import results
from mcp_app.calling import caller, reached
from search_app.asking import DEFAULT_LIMIT, MOST_KNOWLEDGE
from search_app.results import Hit, in_short
from search_app.serializers import MAX_QUERY_LENGTH
from search_app.services import MOST_COLLECTIONS, search_collections

_LISTED = 10
#: Of a collection that is described: what an agent can read.
_FIELDS, _VALUES, _VALUE_CHARACTERS = 50, 10, 100
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
    limit: Annotated[int, Field(ge=1, le=MOST_KNOWLEDGE)] = DEFAULT_LIMIT,
    collection: Annotated[str | None, Field(max_length=512, description="Only there; everywhere unless given.")] = None,
) -> results.DocsFound:
    """Search the documents by meaning and exact words; gives the passages that answer best."""
    found, warnings = _found(query, collection, mode=thoroughness, top_k=limit)
    return results.DocsFound(
        results=[results.DocsHit(**_short(hit), relevance=in_short(hit).relevance or "") for hit in found],
        warnings=warnings,
    )


def search(query: Query) -> results.SearchFound:
    """Search all documents; gives ids for `fetch` with titles and the beginnings of passages."""
    found, warnings = _found(query, None, top_k=_LISTED)
    return results.SearchFound(
        results=[
            results.Found(
                id=_id(hit.collection, hit.id),
                title=_title(hit),
                url=_url(hit.metadata, hit.collection, hit.id),
                text=hit.content[:_BEGINNING],
            )
            for hit in found
        ],
        warnings=warnings,
    )


def fetch(id: Annotated[str, Field(max_length=2_000, description="As `search` gave it.")]) -> results.Fetched:  # noqa: A002
    """The whole text of a passage that `search` found, with its metadata."""
    name, _, external_id = id.partition("/")
    chunk = get_chunk(collection_name=reached(Verb.READ, name), external_id=external_id) if external_id else None
    if chunk is None or chunk.is_disabled:
        # No search finds one that was disabled.
        raise NotFound("There is no passage of this id. Use one that `search` gave.", code="document_not_found")
    return results.Fetched(
        id=id,
        title=str(chunk.metadata.get("title") or chunk.metadata.get("source") or external_id),
        text=chunk.text[:_LONGEST],
        url=_url(chunk.metadata, name, external_id),
        metadata=dict(chunk.metadata),
    )


def list_collections() -> results.ListedCollections:
    """The collections that can be searched, with what each is about."""
    who = caller()
    who.require(Verb.READ)
    return results.ListedCollections(
        collections=[
            results.ListedCollection(
                name=one.collection.name,
                description=description_of(one.collection),
                chunks=one.count,
                dimension=one.dimension,
                distance=one.collection.distance,
                language=one.collection.language,
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
                values=[_counted(value) for value in one.values[:_VALUES]],
                operators=one.operators,
            )
            for one in fields.fields[:_FIELDS]
        ],
        is_sample=fields.is_sample,
        is_cut=fields.is_cut or len(fields.fields) > _FIELDS,
    )


def research_topic(
    topic: Annotated[str, Field(min_length=1, max_length=MAX_TOPIC, description="What is to be found out.")],
    maxIterations: Annotated[int, Field(ge=1, le=MOST_ITERATIONS)] = ITERATIONS,  # noqa: N803 - spec C's name
) -> results.Researched:
    """Research a topic that one search does not cover: by sub-queries, and by others while too little was found."""
    who = caller()
    who.require(Verb.RESEARCH)
    names, warnings = _where(None)
    found = research(topic=topic, collections=names, max_iterations=maxIterations, asked_by=who.name)
    return results.Researched(
        topic=found.topic,
        searchesPerformed=found.searches_performed,
        findings=[results.Finding(**_short(hit)) for hit in found.findings],
        warnings=[*warnings, *(results.Warned(code=one.code, detail=one.detail) for one in found.warnings)],
    )


def _found(query: str, collection: str | None, **options: Any) -> tuple[Sequence[Hit], list[results.Warned]]:
    if not query.strip():
        raise InvalidInput("query: must not be blank.", code="invalid")
    names, warnings = _where(collection)
    found = search_collections(collection_names=names, query=query, asked_by=caller().name, **options)
    return found.hits, [*warnings, *(results.Warned(code=one.code, detail=one.detail) for one in found.warnings)]


def _where(collection: str | None) -> tuple[list[str], list[results.Warned]]:
    """The collections that are searched. Raises NotAllowed, and NotFound where the caller reaches none."""
    if collection is not None:
        return [reached(Verb.SEARCH, collection)], []
    who = caller()
    who.require(Verb.SEARCH)
    names = [name for name in list_names() if who.reaches(name)]
    if not names:
        raise NotFound("There is no collection that this key reaches.", code="collection_not_found")
    if len(names) <= MOST_COLLECTIONS:
        return names, []
    detail = f"Only the first {MOST_COLLECTIONS} of {len(names)} collections were searched, by name. Name one."
    return names[:MOST_COLLECTIONS], [results.Warned(code="collections_cut", detail=detail)]


def _short(hit: Hit) -> dict[str, str]:
    short = in_short(hit)
    return {"content": short.content, "source": _source(hit), "section": short.section or ""}


def _counted(one: ValueCount) -> results.ValueCounted:
    value = one.value[:_VALUE_CHARACTERS] if isinstance(one.value, str) else one.value
    return results.ValueCounted(value=value, count=one.count)


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
