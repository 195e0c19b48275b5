"""A4 to A9, scenario by scenario."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.acceptance.storage.conftest import Shelf, document


def where(**conditions: Any) -> str:
    return json.dumps(conditions)


def refused(answer: httpx.Response, status: int, detail: str) -> None:
    assert (answer.status_code, answer.json()["detail"]) == (status, detail)
    assert answer.json()["code"]


class TestAdding:
    def test_a4_1_documents_are_stored_with_their_embeddings(self, shelf: Shelf) -> None:
        answer = shelf.add(document(1, a=1), document(2))
        assert answer.status_code == 201
        assert answer.json() == {"status": "added", "collection": shelf.name, "count": 2, "ids": ["d1", "d2"]}
        shown = shelf.documents(include="embedding")["documents"]
        assert shown[0] == {"id": "d1", "text": "text number 1", "metadata": {"a": 1}, "embedding": [1.0, 1.0, 0.5]}
        assert shelf.call("GET").json()["count"] == 2
        assert shelf.call("GET").json()["dimension"] == 3

    def test_a4_1_without_an_id_one_is_made(self, shelf: Shelf) -> None:
        given = {"text": "no id", "embedding": [1, 2, 3]}
        ids = shelf.add(given, given).json()["ids"]
        assert len(set(ids)) == 2
        assert shelf.ids() == ids

    def test_a4_1_sending_twice_leaves_one_in_its_place(self, shelf: Shelf) -> None:
        shelf.add(document(1), document(2), document(3))
        changed = {**document(2, new=True), "text": "changed"}
        assert shelf.add(changed).json()["count"] == 1
        page = shelf.documents()
        assert [d["id"] for d in page["documents"]] == ["d1", "d2", "d3"]
        assert (page["total"], page["documents"][1]["text"]) == (3, "changed")

    @pytest.mark.parametrize("missing", [{"text": "a"}, {"text": "a", "embedding": None}])
    def test_a4_2_without_embeddings(self, shelf: Shelf, missing: dict[str, Any]) -> None:
        refused(shelf.add(document(1), missing), 400, "All documents must include pre-computed embeddings")
        assert shelf.documents()["total"] == 0

    @pytest.mark.parametrize(
        "embedding", ["text", {"a": 1}, [1, "two", 3], [[1, 2, 3]], [1, None, 3], [True, 2, 3], []]
    )
    def test_a4_3_an_embedding_that_is_no_array_of_numbers(self, shelf: Shelf, embedding: Any) -> None:
        answer = shelf.add(document(1), {**document(2), "embedding": embedding})
        assert answer.status_code == 400
        assert answer.json()["detail"].startswith("documents[1].embedding: must be an array of numbers")

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "1e39", "1e400"])
    def test_a4_3_a_number_that_is_not_finite(self, shelf: Shelf, number: str) -> None:
        body = '{"documents": [{"text": "a", "embedding": [1, 2, ' + number + "]}]}"
        answer = shelf.call("POST", "/documents", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400
        assert shelf.documents()["total"] == 0

    def test_a4_4_dimensions_that_differ(self, shelf: Shelf) -> None:
        answer = shelf.add(document(1), {**document(2), "embedding": [1.0, 2.0]})
        assert answer.status_code == 400
        assert "dimension" in answer.json()["detail"]

    def test_a4_4_the_first_add_fixes_the_dimension(self, shelf: Shelf) -> None:
        shelf.add(document(1))
        answer = shelf.add({**document(2), "embedding": [1.0, 2.0]})
        assert (answer.status_code, answer.json()["code"]) == (400, "dimension_mismatch")

    @pytest.mark.parametrize("body", [{"documents": []}, {}, {"documents": None}])
    def test_a4_5_no_documents(self, shelf: Shelf, body: dict[str, Any]) -> None:
        refused(shelf.call("POST", "/documents", json=body), 400, "Documents array is required")


class TestCollectionMetadata:
    def test_a5_1_created_with_metadata_and_a_record_of_the_model(self, http: httpx.Client) -> None:
        body = {"name": "a5", "embedding_provider": "p", "embedding_model": "m", "metadata": {"x": {"y": [1]}}}
        made = http.post("/collections", json=body)
        assert made.status_code == 201
        assert made.json()["metadata"] == {"x": {"y": [1]}, "embedding_provider": "p", "embedding_model": "m"}
        assert http.post("/collections", json=body).status_code == 409

    def test_a5_2_a5_3_shown_and_replaced(self, shelf: Shelf) -> None:
        answer = shelf.call("PUT", "/metadata", json={"metadata": {"a": 1}})
        assert answer.json() == {"status": "updated", "collection": shelf.name, "metadata": {"a": 1}}
        assert shelf.call("GET").json()["metadata"] == {"a": 1}

    def test_a5_4_listed_with_metadata(self, http: httpx.Client, shelf: Shelf) -> None:
        shelf.call("PUT", "/metadata", json={"metadata": {"seen": True}})
        listed = {row["name"]: row["metadata"] for row in http.get("/collections").json()["collections"]}
        assert listed[shelf.name] == {"seen": True}


class TestWhere:
    @pytest.fixture
    def filled(self, shelf: Shelf) -> Shelf:
        shelf.add(
            document(0, section_id="intro", doc_type="heading", chapter="1"),
            document(1, section_id="intro", doc_type="paragraph", chapter="1"),
            document(2, section_id="setup", doc_type="code", chapter="2"),
            document(3, section_id="setup", doc_type="paragraph", chapter="2"),
            document(4, section_id="end", doc_type="list", chapter="3"),
        )
        return shelf

    def test_a6_1_equality(self, filled: Shelf) -> None:
        found = filled.documents(where=where(section_id="intro"))
        assert (found["count"], found["total"]) == (2, 2)
        assert [set(d) for d in found["documents"]] == [{"id", "text", "metadata"}] * 2

    def test_a6_2_several_fields_are_anded(self, filled: Shelf) -> None:
        assert filled.ids(where=where(chapter="1", doc_type="paragraph")) == ["d1"]

    def test_a6_3_operators(self, filled: Shelf) -> None:
        assert filled.ids(where=where(doc_type={"$in": ["heading", "paragraph"]})) == ["d0", "d1", "d3"]

    def test_a6_4_or(self, filled: Shelf) -> None:
        assert filled.ids(where=json.dumps({"$or": [{"chapter": "1"}, {"chapter": "3"}]})) == ["d0", "d1", "d4"]

    def test_a6_5_without_a_filter_the_first_hundred(self, shelf: Shelf) -> None:
        shelf.add(*(document(n) for n in range(500)))
        found = shelf.documents()
        assert (found["count"], found["total"]) == (100, 500)
        assert found["documents"][0]["id"] == "d0"

    def test_a6_6_pages_by_offset_and_by_cursor(self, shelf: Shelf) -> None:
        shelf.add(*(document(n, part=n < 250) for n in range(300)))
        chosen = where(part=True)
        page = shelf.documents(where=chosen, limit=50, offset=100)
        assert ([d["id"] for d in page["documents"]], page["count"]) == ([f"d{n}" for n in range(100, 150)], 50)
        after = shelf.documents(where=chosen, limit=50, cursor=page["next_cursor"])
        assert [d["id"] for d in after["documents"]] == [f"d{n}" for n in range(150, 200)]
        last = shelf.documents(where=chosen, limit=50, offset=200)
        assert (last["count"], last["total"], last["next_cursor"]) == (50, 250, None)

    def test_a6_7_nothing_found_is_no_error(self, filled: Shelf) -> None:
        expected = {"documents": [], "count": 0, "total": 0, "next_cursor": None}
        assert filled.documents(where=where(section_id="nowhere")) == expected

    def test_a6_8_an_unknown_collection(self, http: httpx.Client) -> None:
        refused(http.get("/collections/nonexistent/documents"), 404, "Collection 'nonexistent' not found")

    def test_a6_9_a_filter_that_is_no_json(self, filled: Shelf) -> None:
        answer = filled.call("GET", "/documents", params={"where": "invalid-json-string"})
        refused(answer, 400, "Invalid 'where' filter: must be valid JSON")

    def test_a6_10_the_limit_is_clamped(self, shelf: Shelf) -> None:
        shelf.add(*(document(n) for n in range(1100)))
        assert shelf.documents(limit=5000)["count"] == 1000
        assert shelf.call("GET", "/documents", params={"limit": 0}).status_code == 400
        assert shelf.call("GET", "/documents", params={"limit": -1}).status_code == 400

    def test_a6_11_siblings_come_in_the_order_of_their_source(self, shelf: Shelf) -> None:
        kinds = ["heading", "paragraph", "code", "paragraph"]
        shelf.add(*(document(n, section_id="retention-config", doc_type=kind) for n, kind in enumerate(kinds)))
        shelf.add(document(9, section_id="other"))
        # Edited since: the section is still read in its order.
        shelf.add({**document(1, section_id="retention-config", doc_type="paragraph"), "text": "edited"})
        page = shelf.documents(where=where(section_id="retention-config"))
        assert [d["metadata"]["doc_type"] for d in page["documents"]] == kinds
        assert page["total"] == 4


class TestValues:
    def test_a7_1_values_are_distinct_and_sorted(self, shelf: Shelf) -> None:
        regions = ["British Classics", "Asian & Middle Eastern Sweets", "British Classics", "French Pastries"]
        shelf.add(*(document(n, region=region) for n, region in enumerate(regions)))
        found = shelf.call("GET", "/metadata-values", params={"field": "region"}).json()
        assert (found["field"], found["values"], found["count"]) == ("region", sorted(set(regions)), 3)

    def test_a7_2_a_field_that_nothing_has(self, shelf: Shelf) -> None:
        shelf.add(document(1))
        found = shelf.call("GET", "/metadata-values", params={"field": "nonexistent"})
        assert found.status_code == 200
        assert (found.json()["values"], found.json()["count"]) == ([], 0)

    def test_a7_3_an_unknown_collection(self, http: httpx.Client) -> None:
        answer = http.get("/collections/nonexistent/metadata-values", params={"field": "region"})
        refused(answer, 404, "Collection 'nonexistent' does not exist.")

    def test_a7_4_without_a_field(self, shelf: Shelf) -> None:
        refused(shelf.call("GET", "/metadata-values"), 400, "Query parameter 'field' is required.")

    def test_a7_5_types_are_kept_and_arrays_unfolded(self, shelf: Shelf) -> None:
        values = ["b", 2, True, ["a", "b", 1.5], None, {"no": "value"}, False, "a"]
        shelf.add(*(document(n, v=value) for n, value in enumerate(values)))
        for _ in range(2):
            found = shelf.call("GET", "/metadata-values", params={"field": "v"}).json()["values"]
            assert found == [False, True, 1.5, 2, "a", "b"]
            assert [type(value) for value in found] == [bool, bool, float, int, str, str]


class TestMerging:
    BEFORE = {"description": "Test", "match_threshold": 0.5, "custom_field": "value"}

    @pytest.mark.parametrize(
        ("query", "after"),
        [
            ("?merge=true", {**BEFORE, "new_field": "new"}),
            ("", {"new_field": "new"}),
            ("?merge=false", {"new_field": "new"}),
        ],
        ids=["a8_1", "a8_2", "a8_3"],
    )
    def test_a8_metadata_merged_or_replaced(self, shelf: Shelf, query: str, after: dict[str, Any]) -> None:
        shelf.call("PUT", "/metadata", json={"metadata": self.BEFORE})
        shelf.call("PUT", f"/metadata{query}", json={"metadata": {"new_field": "new"}})
        assert shelf.call("GET").json()["metadata"] == after


class TestEmptying:
    def test_a9_1_emptied_with_its_count(self, shelf: Shelf) -> None:
        shelf.add(*(document(n) for n in range(100)))
        answer = shelf.call("DELETE", "/documents/all")
        assert answer.status_code == 200
        assert answer.json() == {"status": "emptied", "collection": shelf.name, "count_deleted": 100}
        assert (shelf.documents()["total"], shelf.call("GET").json()["count"]) == (0, 0)

    def test_a9_2_already_empty(self, shelf: Shelf) -> None:
        answer = shelf.call("DELETE", "/documents/all")
        assert answer.json() == {"status": "emptied", "collection": shelf.name, "count_deleted": 0}

    def test_a9_3_an_unknown_collection(self, http: httpx.Client) -> None:
        answer = http.delete("/collections/missing-collection/documents/all")
        refused(answer, 404, "Collection 'missing-collection' not found")

    def test_a9_6_metadata_is_kept_and_used(self, shelf: Shelf) -> None:
        metadata = {"display_name": "Test", "description": "Docs", "query_profile": {"k": 3}}
        shelf.call("PUT", "/metadata", json={"metadata": metadata})
        shelf.add(document(1))
        shelf.call("DELETE", "/documents/all")
        assert shelf.call("GET").json()["metadata"] == metadata
        assert shelf.add(document(2)).status_code == 201
        assert shelf.ids() == ["d2"]
