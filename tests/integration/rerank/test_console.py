"""The console's bench of the cross-encoder, and what its pages say of a reranked search."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from core_app import wiring
from tests.integration.search.asked import filled

ADDRESS = "/admin/collections/collection/rerank/"
ASKED = {"query": "fox", "first": "tea rye oak", "second": "red <b>fox</b>"}

pytestmark = pytest.mark.django_db


def shown(client: Client, data: dict[str, str] | None = None) -> str:
    answer = client.get(ADDRESS) if data is None else client.post(ADDRESS, data)
    assert answer.status_code == 200
    return answer.content.decode()


def test_without_a_model_it_says_how_to_load_one(admin_client: Client) -> None:
    page = shown(admin_client)
    assert "Cross-encoder not loaded. Start server with --cross-encoder flag." in page
    assert '<form method="post" class="rs-card' not in page
    assert "Compare two texts" in page


def test_the_better_text_is_first_with_scores_and_a_time(admin_client: Client, cross_encoder: None) -> None:
    assert "cross-encoder" in shown(admin_client)
    assert "Searches are reranked by the cross-encoder" in admin_client.get("/admin/").content.decode()
    page = shown(admin_client, ASKED)
    assert re.findall(r'<span class="rs-strong">(.*?)</span>', page) == ["Second text", "First text"]
    assert "red &lt;b&gt;fox&lt;/b&gt;" in page
    assert re.search(r'id="summary">2 texts in [\d.]+ ms<', page)
    probabilities = [float(one) for one in re.findall(r"<span>0 to 1</span><strong>([\d.]+)<", page)]
    assert probabilities[0] > probabilities[1]


def test_what_is_missing_or_fails_is_said(
    admin_client: Client, cross_encoder: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "This field is required." in shown(admin_client, {**ASKED, "second": ""})

    def failing(**_: object) -> None:
        raise RuntimeError("no memory at /srv/secret")

    monkeypatch.setattr(wiring._pair_scorer(), "scores", failing)
    page = shown(admin_client, ASKED)
    assert "Cross-encoder scoring failed: RuntimeError: no memory" in page
    assert "secret" not in page


def test_the_query_page_says_who_reranked_and_what_it_added(admin_client: Client, cross_encoder: None) -> None:
    filled("c", {"a": "red fox", "b": "tea fox rye"})
    asked = {"collection": "c", "query": "fox"}
    page = admin_client.get("/admin/collections/collection/query/", asked).content.decode()
    assert "the best 2 reranked by the cross-encoder" in page
    assert page.count("What adds up to the score after reranking") == 2
    page = admin_client.get("/admin/collections/collection/query/", {**asked, "mode": "fast"}).content.decode()
    assert "reranked" not in page.lower()
