"""The page that shows what a search would give: what was found, within its parent."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from collections_app.models import Chunk
from collections_app.services import create_collection
from ingest_app.rechunking import set_chunking
from tests.integration.ingest.filling import ingest

pytestmark = pytest.mark.django_db

SENTENCES = [
    f"Here is <b>sentence</b> {n} about {word} & nothing else at all." for n, word in enumerate(("oak", "elm"))
]


def page(client: Client, query: str) -> str:
    answer = client.get("/admin/collections/collection/query/", {"collection": "trees", "query": query})
    assert answer.status_code == 200
    return answer.content.decode()


def collection(**chunking: int) -> None:
    create_collection(name="trees")
    set_chunking(name="trees", own={"size": 16, "overlap": 0, **chunking})
    ingest("trees", "\n\n".join(SENTENCES))
    assert Chunk.objects.count() == 2


def test_the_passage_that_was_found_is_marked_in_its_parent(root: Client) -> None:
    collection(parent_size=100)
    shown = page(root, "elm")
    assert "1 passage in" in shown
    (text,) = re.findall(r'<div class="rs-text rs-text--long"[^>]*>(.*?)</div>', shown, re.DOTALL)
    around, found = text.split('<span class="rs-found" title="The chunk that was found">')
    assert around == "Here is &lt;b&gt;sentence&lt;/b&gt; 0 about oak &amp; nothing else at all.\n\n"
    assert found == (
        'Here is &lt;b&gt;sentence&lt;/b&gt; 1 about <mark class="rs-mark">elm</mark> &amp; nothing else at all.</span>'
    )
    chunk = root.get(f"/admin/collections/chunk/{Chunk.objects.get(ordinal=1).pk}/change/").content.decode()
    assert "<dt>Shown within</dt><dd>characters 0\N{EN DASH}" in chunk


def test_without_parents_nothing_is_set_apart(root: Client) -> None:
    collection()
    shown = page(root, "elm")
    assert "2 passages in" in shown
    assert "rs-found" not in shown
    chunk = root.get(f"/admin/collections/chunk/{Chunk.objects.get(ordinal=1).pk}/change/").content.decode()
    assert "Shown within" not in chunk
