"""Every operation that a server serves, read from its own OpenAPI document."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from remanence.kit.json import JsonObject


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    """With `{names}` for what varies."""
    parameters: tuple[JsonObject, ...]
    fields: tuple[str, ...] | None
    """The keys of its JSON body; None if it takes no body."""

    def names(self, place: str) -> list[str]:
        return [each["name"] for each in self.parameters if each["in"] == place]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def read_operations(client: httpx.Client) -> list[Operation]:
    return list(operations_of(client.get("/openapi.json").json()))


def operations_of(document: JsonObject) -> Iterator[Operation]:
    schemas: JsonObject = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, entry in methods.items():
            content: JsonObject = entry.get("requestBody", {}).get("content", {})
            body = content.get("application/json")
            yield Operation(
                method.upper(),
                path,
                tuple(entry.get("parameters", ())),
                None if body is None else tuple(_keys(body["schema"], schemas)),
            )


def _keys(schema: Any, schemas: JsonObject) -> list[str]:
    if "$ref" in schema:
        return _keys(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    found = dict.fromkeys(schema.get("properties", ()))
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found |= dict.fromkeys(_keys(choice, schemas))
    return list(found)
