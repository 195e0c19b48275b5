"""A client that holds every answer against the OpenAPI document, more strictly than the document itself."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client
from django.urls import resolve
from jsonschema import Draft202012Validator

#: Objects that may hold more than the document names: the user's own metadata stands beside ours.
OPEN = {"HitMetadata"}


class ContractBrokenError(AssertionError):
    """An answer that the document does not describe."""


def document() -> dict[str, Any]:
    """The OpenAPI document as it is served."""
    served: dict[str, Any] = Client(headers={"host": "127.0.0.1"}).get("/api/schema").json()
    return served


def as_json_schema(part: Any, *, name: str = "") -> Any:
    """OpenAPI 3.0 as JSON Schema: `nullable` spelled out, and no field beyond those that are named."""
    if isinstance(part, list):
        return [as_json_schema(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    converted = {key: as_json_schema(value) for key, value in part.items() if key not in {"nullable", "properties"}}
    if "properties" in part:
        converted["properties"] = {key: as_json_schema(value) for key, value in part["properties"].items()}
        converted.setdefault("additionalProperties", name in OPEN)
    return {"anyOf": [converted, {"type": "null"}]} if part.get("nullable") else converted


def template(path: str) -> str:
    """The address as the document writes it."""
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", resolve(path).route)


class Contract:
    """The document, and what was held against it so far."""

    def __init__(self) -> None:
        self.document = document()
        self.seen: set[tuple[str, str, int]] = set()
        schemas = self.document["components"]["schemas"]
        self._components = {
            "components": {"schemas": {name: as_json_schema(schema, name=name) for name, schema in schemas.items()}}
        }

    def check(self, *, method: str, path: str, status: int, body: Any) -> None:
        """Raise ContractBrokenError unless the document says that this may be the answer."""
        place = f"{method} {template(path)} {status}"
        operation = self.document["paths"].get(template(path), {}).get(method.lower())
        if operation is None:
            raise ContractBrokenError(f"{place}: the operation is not documented")
        response = operation["responses"].get(str(status))
        if response is None:
            raise ContractBrokenError(f"{place}: the status is not documented")
        if "application/x-ndjson" in response["content"]:  # sent while it is made, line by line
            self.seen.add((method, template(path), status))
            return
        schema = response["content"]["application/json"]["schema"]
        validator = Draft202012Validator(
            {**as_json_schema(schema), **self._components}, format_checker=Draft202012Validator.FORMAT_CHECKER
        )
        mistakes = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(body)]
        if mistakes:
            raise ContractBrokenError(f"{place}: {'; '.join(mistakes)}")
        self.seen.add((method, template(path), status))


class ContractClient(Client):
    """The test client, with every JSON answer checked."""

    def __init__(self, contract: Contract, **more: Any) -> None:
        super().__init__(**more)
        self._contract = contract

    def request(self, **environ: Any) -> Any:
        response = super().request(**environ)
        self._contract.check(
            method=environ["REQUEST_METHOD"],
            path=environ["PATH_INFO"],
            status=response.status_code,
            body=None if response.streaming else response.json(),
        )
        return response
