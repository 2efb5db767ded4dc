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


NOBODY = "11111111-1111-4111-8111-111111111111"
UNKNOWN = {
    "batch_id": f"job-{NOBODY}",
    "budget_id": f"budget-{NOBODY}",
    "key_id": f"key-{NOBODY}",
    "token": "rmn_nobodys",
    "file_id": f"file-{NOBODY}",
    "folder_id": f"source-{NOBODY}",
    "folder_name": "nowhere",
    "group_id": f"group-{NOBODY}",
    "identity_id": f"identity-{NOBODY}",
    "template_name": "nobody",
    "template_version": "nobody:1",
    "job_id": f"job-{NOBODY}",
    "mcp_server_id": f"mcp_server-{NOBODY}",
    "mcp_server_name": "nobody",
    "mcp_tool_name": "nothing",
    "number": "1",
    "passage_id": f"passage-{NOBODY}",
    "memory_id": f"passage-{NOBODY}",
    "provider_id": f"provider-{NOBODY}",
    "run_id": f"run-{NOBODY}",
    "scheduled_message_id": f"schedule-{NOBODY}",
    "source_id": f"source-{NOBODY}",
    "source_name": "nowhere",
    "step_id": f"step-{NOBODY}",
}
"""A name that nobody has for each thing that an address may hold, where a test makes none of its own."""
