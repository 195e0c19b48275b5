"""The main job over HTTP, with the worker's code run in this process and the hashing embedder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from ingest_app.models import Item, Job, Payload
from ingest_app.work import run_job

pytestmark = pytest.mark.django_db

GUIDE = """# Guide

Welcome to the guide.

## Baking

### Sourdough

Feed the starter with rye flour every morning.

## Riding

Pump the tyres to 4 bar. See bikeTyrePressure in the settings.
"""


def upload(client: Client, collection: str, *files: tuple[str, bytes], metadata: Any = None) -> Any:
    form: dict[str, Any] = {"file": [SimpleUploadedFile(name, content) for name, content in files]}
    if metadata is not None:
        form["metadata"] = metadata if isinstance(metadata, str) else json.dumps(metadata)
    return client.post(f"/api/rag/collections/{collection}/documents", form)


def send_texts(client: Client, collection: str, *documents: dict[str, Any]) -> Any:
    path = f"/api/rag/collections/{collection}/documents"
    return client.post(path, {"documents": list(documents)}, content_type="application/json")


def work_off(answer: Any, client: Client) -> Any:
    """Run the job that an answer named, and return it as the API then shows it."""
    assert answer.status_code in (200, 202), answer.content
    job = Job.objects.get(pk=answer.json()["id"])
    run_job(job_id=job.pk, stopping=lambda: False)
    return client.get(f"/api/rag/jobs/{job.pk}").json()


def find(client: Client, collection: str, query: str, **more: Any) -> Any:
    path = f"/api/rag/collections/{collection}/search"
    answer = client.post(path, {"query": query, **more}, content_type="application/json")
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.fixture
def guide(client: Client) -> str:
    client.post("/collections", {"name": "guides"}, content_type="application/json")
    job = work_off(upload(client, "guides", ("guide.md", GUIDE.encode()), metadata={"team": "home"}), client)
    assert job["state"] == "succeeded", job
    return "guides"


def test_a_file_is_indexed_and_its_passage_found_first(client: Client, guide: str) -> None:
    """C-REQ-005, FR-005, FR-006"""
    body = find(client, guide, "feed the sourdough starter")
    assert body["count"] == len(body["results"]) > 0
    first = body["results"][0]
    assert first["content"].strip().endswith("Feed the starter with rye flour every morning.")
    metadata = first["metadata"]
    assert metadata["source"] == "guide.md"
    assert metadata["section"] == "Baking > Sourdough"
    assert metadata["page_number"] is None
    assert metadata["team"] == "home"
    assert isinstance(metadata["chunk_index"], int)
    assert 0 <= first["score"] == metadata["similarity_score"] <= 1
    assert (body["mode"], body["reranker"], body["warnings"]) == ("balanced", "none", [])


def test_c_req_002_an_exact_term_is_found(client: Client, guide: str) -> None:
    assert "bikeTyrePressure" in find(client, guide, "bikeTyrePressure")["results"][0]["content"]


def test_the_payload_is_gone_once_indexed(client: Client, guide: str) -> None:
    assert Payload.objects.count() == 0


def test_sending_the_same_again_changes_nothing(client: Client, guide: str) -> None:
    before = find(client, guide, "tyres")
    job = work_off(upload(client, guide, ("guide.md", GUIDE.encode()), metadata={"team": "home"}), client)
    assert (job["state"], job["skipped"], job["items"][0]["state"]) == ("succeeded", 1, "skipped")
    after = find(client, guide, "tyres")
    assert [r["id"] for r in after["results"]] == [r["id"] for r in before["results"]]


def test_a_changed_source_replaces_its_chunks(client: Client, guide: str) -> None:
    changed = GUIDE.replace("rye flour", "spelt flour")
    work_off(upload(client, guide, ("guide.md", changed.encode())), client)
    texts = [r["content"] for r in find(client, guide, "flour", top_k=100)["results"]]
    assert any("spelt" in text for text in texts)
    assert not any("rye" in text for text in texts)
    assert client.get(f"/collections/{guide}").json()["count"] == len(texts)


def test_one_bad_file_never_stops_the_others(client: Client, guide: str) -> None:
    answer = upload(
        client, guide, ("empty.md", b""), ("good.md", b"# Tea\n\nOolong is a tea."), ("fake.pdf", b"%PDF-1.7\nnothing")
    )
    job = work_off(answer, client)
    assert job["state"] == "partial"
    states = {item["source"]: (item["state"], item["code"]) for item in job["items"]}
    assert states["good.md"] == ("succeeded", None)
    assert states["empty.md"] == ("failed", "empty_file")
    assert states["fake.pdf"][0] == "failed"
    assert all(item["error"] for item in job["items"] if item["state"] == "failed")
    assert find(client, guide, "oolong tea")["results"][0]["metadata"]["source"] == "good.md"


def test_a_bad_new_version_leaves_the_old_one_searchable(client: Client, guide: str) -> None:
    job = work_off(upload(client, guide, ("guide.md", b"   \n")), client)
    assert job["state"] == "failed"
    assert find(client, guide, "rye flour")["results"][0]["metadata"]["source"] == "guide.md"
    source = client.get(f"/api/rag/collections/{guide}/sources").json()["sources"][0]
    assert source["state"] == "ready"
    assert source["code"] == "empty_file"


def test_nothing_of_a_known_type_is_415(client: Client, guide: str) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(64)
    answer = upload(client, guide, ("picture.md", png))
    assert answer.status_code == 415, answer.content
    assert answer.json()["code"] == "unsupported_type"


def test_texts_are_indexed_with_title_and_metadata(client: Client) -> None:
    client.post("/collections", {"name": "t"}, content_type="application/json")
    documents: list[dict[str, Any]] = [
        {"source": "a", "text": "Ada wrote the first program.", "title": "Lovelace", "metadata": {"born": 1815}},
        {"source": "b", "text": "Grace found a moth."},
    ]
    job = work_off(send_texts(client, "t", *documents), client)
    assert (job["total"], job["done"], job["failed"]) == (2, 2, 0)
    first = find(client, "t", "Lovelace")["results"][0]
    assert first["content"] == "Ada wrote the first program."
    assert first["metadata"]["born"] == 1815


def test_unstorable_characters_in_texts_are_cleaned(client: Client) -> None:
    client.post("/collections", {"name": "t"}, content_type="application/json")
    job = work_off(send_texts(client, "t", {"source": "a", "text": "zero \x00 byte and snow"}), client)
    assert job["state"] == "succeeded"
    assert "zero" in find(client, "t", "snow")["results"][0]["content"]


def test_readme_3_system_fields_win_over_user_keys_of_the_same_name(client: Client) -> None:
    client.post("/collections", {"name": "t"}, content_type="application/json")
    document = {"source": "a", "text": "hello there", "metadata": {"source": "fake", "rrf_score": 9, "own": 1}}
    work_off(send_texts(client, "t", document), client)
    metadata = find(client, "t", "hello")["results"][0]["metadata"]
    assert metadata["source"] == "a"
    assert metadata["own"] == 1
    assert metadata["rrf_score"] == pytest.approx(2 / 61)


def test_fr_010_sc_004_min_score_filters_on_similarity_before_the_cut(client: Client, guide: str) -> None:
    every = find(client, guide, "rye flour", top_k=100)["results"]
    bound = sorted(r["score"] for r in every)[len(every) // 2]
    kept = find(client, guide, "rye flour", top_k=100, min_score=bound)["results"]
    assert [r["id"] for r in kept] == [r["id"] for r in every if r["score"] >= bound]
    assert find(client, guide, "rye flour", min_score=1)["results"] == []


def test_b5_2_top_k_limits_the_results(client: Client, guide: str) -> None:
    assert find(client, guide, "guide", top_k=1)["count"] == 1


def test_a3_2_a3_4_a_topic_takes_the_querys_place(client: Client, guide: str) -> None:
    body = find(client, guide, "does it work?", topic="  rye \n flour ")
    assert body["query_strategy"] == "follow-up (contextualized topic)"
    assert "rye flour" in body["results"][0]["content"]
    assert find(client, guide, "rye flour", topic="  ")["query_strategy"] == "first message (raw query)"


def test_an_empty_collection_finds_nothing(client: Client) -> None:
    client.post("/collections", {"name": "void"}, content_type="application/json")
    assert find(client, "void", "anything")["results"] == []


def test_b8_2_the_default_collection_is_made_at_first_use(client: Client) -> None:
    """README 4"""
    assert find(client, "content_chunks", "anything")["count"] == 0
    assert client.get("/collections/content_chunks").status_code == 200


def test_a_source_is_removed_with_its_chunks(client: Client, guide: str) -> None:
    answer = client.delete(f"/api/rag/collections/{guide}/sources?source=guide.md")
    assert answer.status_code == 200
    assert answer.json()["chunks_deleted"] > 0
    assert find(client, guide, "rye flour")["results"] == []
    assert client.delete(f"/api/rag/collections/{guide}/sources?source=guide.md").status_code == 404
    assert client.delete(f"/api/rag/collections/{guide}/sources").status_code == 400


def test_a_collection_is_deleted_with_everything_in_it(client: Client, guide: str) -> None:
    assert client.delete(f"/collections/{guide}").status_code == 200
    assert client.post(f"/api/rag/collections/{guide}/search", {"query": "x"}, "application/json").status_code == 404
    assert (Job.objects.count(), Item.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": "   "},
        {"query": None},
        {"query": 5},
        {"query": ["a"]},
        {"query": "x" * 4001},
        {"query": "nul\x00"},
        {"query": "x", "top_k": -1},
        {"query": "x", "top_k": 0},
        {"query": "x", "top_k": 101},
        {"query": "x", "top_k": "5"},
        {"query": "x", "top_k": True},
        {"query": "x", "top_k": 1.5},
        {"query": "x", "min_score": 1.01},
        {"query": "x", "min_score": -0.1},
        {"query": "x", "min_score": "high"},
        {"query": "x", "unknown": 1},
        [],
        "text",
        None,
    ],
)
def test_bad_searches_are_400_with_a_sentence_and_a_code(client: Client, guide: str, body: Any) -> None:
    """README 1, FR-002"""
    path = f"/api/rag/collections/{guide}/search"
    answer = client.post(path, json.dumps(body), content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["detail"]
    assert answer.json()["code"]


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b"null", "Send a JSON object."),
        (rb'{"query": "a\ud800"}', "query: Remove lone surrogates: they are no characters."),
    ],
)
def test_a_body_that_says_nothing_is_told_what_to_send(client: Client, guide: str, raw: bytes, detail: str) -> None:
    answer = client.post(f"/api/rag/collections/{guide}/search", raw, content_type="application/json")
    assert (answer.status_code, answer.json()["detail"]) == (400, detail)


@pytest.mark.parametrize(
    "raw", [b"{", b'{"query": }', b"\xff\xfe", b'{"query": "x", "min_score": NaN}', b"[" * 100_000]
)
def test_malformed_json_is_400(client: Client, guide: str, raw: bytes) -> None:
    answer = client.post(f"/api/rag/collections/{guide}/search", raw, content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["code"] == "malformed_json"


def test_a_query_of_4000_characters_is_accepted(client: Client, guide: str) -> None:
    """README 1"""
    assert find(client, guide, "rye " * 1000)["count"] >= 1


def test_readme_4_an_unknown_collection_is_404(client: Client) -> None:
    answer = client.post("/api/rag/collections/nowhere/search", {"query": "x"}, content_type="application/json")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "Collection 'nowhere' not found"


@pytest.mark.parametrize("name", ["..", ".", "x" * 513])
def test_what_cannot_be_a_name_is_400_in_a_path_too(client: Client, name: str) -> None:
    answer = client.post(f"/api/rag/collections/{name}/search", {"query": "x"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_name")
