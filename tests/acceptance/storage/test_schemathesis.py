"""Requests that follow the OpenAPI document, and some that do not: none of them is the server's mistake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, settings

STORAGE = r"^/collections"

document: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
schema = schemathesis.openapi.from_dict(document).include(path_regex=STORAGE)


@pytest.fixture(scope="module", autouse=True)
def _some_documents(http: httpx.Client) -> None:
    """Names that generated requests hit now and then."""
    for name in ("0", "a", "00"):
        http.post("/collections", json={"name": name})
        documents = [{"id": name, "text": "text", "embedding": [0.5, 1.0], "metadata": {"a": 1}}]
        http.post(f"/collections/{name}/documents", json={"documents": documents})


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as shared:
        yield shared


@schema.parametrize()
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_is_answered_with_a_server_error(
    case: schemathesis.Case[Any], http: httpx.Client, session: requests.Session
) -> None:
    answer = case.call(base_url=str(http.base_url), session=session)
    case.validate_response(answer, checks=[schemathesis.checks.not_a_server_error])
