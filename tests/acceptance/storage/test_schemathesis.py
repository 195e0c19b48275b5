"""Requests that follow the OpenAPI document, and some that do not: none of them is the server's mistake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import httpx
import pytest
import requests
import schemathesis
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.errors import UnsupportedSchema
from schemathesis.core.result import Ok

STORAGE = r"^/collections"

document: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
schema = schemathesis.openapi.from_dict(document).include(path_regex=STORAGE)

Case: TypeAlias = schemathesis.Case[Any]
APIOperation: TypeAlias = schemathesis.schemas.APIOperation[Any, Any, Any, Any]


def operations() -> Iterator[APIOperation]:
    """Those of the storage API; one that the document describes wrongly is an error, not left out."""
    for result in schema.get_all_operations():
        assert isinstance(result, Ok), result
        yield result.ok()


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


@st.composite
def requests_of(draw: st.DrawFn, operation: APIOperation) -> Case:
    """A request that keeps to what the document says, or one that breaks a rule of it."""
    mode = draw(st.sampled_from(list(GenerationMode)))
    try:
        return draw(operation.as_strategy(generation_mode=mode))
    except UnsupportedSchema:
        # The filter is a tree: not each of its rules has an opposite that the library can write down.
        reject()


@pytest.mark.parametrize("operation", list(operations()), ids=lambda operation: operation.label)
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_request_is_answered_with_a_server_error(
    data: st.DataObject, operation: APIOperation, http: httpx.Client, session: requests.Session
) -> None:
    case = data.draw(requests_of(operation))
    answer = case.call(base_url=str(http.base_url), session=session)
    case.validate_response(answer, checks=[schemathesis.checks.not_a_server_error])
