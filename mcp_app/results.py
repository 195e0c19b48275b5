"""What tools give back: their output schemas are made of these."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Warned(BaseModel):
    """What kept a search from being all it could be."""

    code: str
    detail: str


class DocsHit(BaseModel):
    """A passage (spec C)."""

    content: str
    source: str = Field(description="Where it is from, such as a file's path.")
    section: str = Field(description='Its headings, such as "Modules > Hooks".')
    relevance: str = Field(description='Similarity in percent, such as "87%"; empty where nothing was compared.')


class DocsFound(BaseModel):
    """Passages, best first."""

    results: list[DocsHit]
    warnings: list[Warned] = Field(description="What kept the search from being all it could be.")


class Found(BaseModel):
    """A passage to look into."""

    id: str = Field(description="For `fetch`.")
    title: str
    url: str
    text: str = Field(description="Its beginning.")


class SearchFound(BaseModel):
    """Passages, best first."""

    results: list[Found]
    warnings: list[Warned] = Field(description="What kept the search from being all it could be.")


class Fetched(BaseModel):
    """A passage with what stands around it."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]


class ListedCollection(BaseModel):
    """A collection."""

    name: str
    description: str
    chunks: int
    dimension: int | None = Field(description="Of its vectors; null while there are none.")
    distance: str
    language: str


class ListedCollections(BaseModel):
    """The collections that can be searched."""

    collections: list[ListedCollection]


class ValueCounted(BaseModel):
    """A value and how often it was found."""

    value: Any
    count: int


class DescribedField(BaseModel):
    """A field of the metadata."""

    name: str
    types: dict[str, int] = Field(description="Chunks by the type of the value.")
    values: list[ValueCounted] = Field(description="The most frequent.")
    operators: list[str] = Field(description="Of filters that make sense on it.")


class DescribedCollection(BaseModel):
    """What a collection holds."""

    name: str
    description: str
    metadata: dict[str, Any]
    language: str
    chunks: int
    documents: int
    fields: list[DescribedField]
    is_sample: bool = Field(description="Whether the fields are those of some chunks only.")
    is_cut: bool = Field(description="Whether there are more fields.")


class Finding(BaseModel):
    """A passage (spec C)."""

    content: str
    source: str
    section: str


class Researched(BaseModel):
    """What several searches found."""

    topic: str
    searchesPerformed: int  # noqa: N815 - spec C's name
    findings: list[Finding]
    warnings: list[Warned] = Field(description="What kept the research from being all it could be.")
