"""The built-in tools as records: read from `catalogue.toml`, shaped as the API shows a tool."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

from remanence.core.tool import ToolType
from remanence.kit.json import JsonObject


@dataclass(frozen=True, slots=True)
class BuiltinTool:
    name: str
    tool_type: ToolType
    description: str
    json_schema: JsonObject
    """`{name, description, parameters}`."""
    enable_parallel_execution: bool


@cache
def builtin_tools() -> tuple[BuiltinTool, ...]:
    """Every tool this server can run by itself. What is not implemented is not listed."""
    text = (files(__package__ or "") / "catalogue.toml").read_text(encoding="utf-8")
    return tuple(_read_tool(entry) for entry in tomllib.loads(text)["tool"])


def _read_tool(entry: dict[str, Any]) -> BuiltinTool:
    name: str = entry["name"]
    description: str = entry["description"].strip()
    parameters: list[JsonObject] = entry.get("parameter", [])
    schema: JsonObject = {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": {each["name"]: _read_parameter(each) for each in parameters},
            "required": [each["name"] for each in parameters if not each.get("is_optional")],
        },
    }
    return BuiltinTool(
        name, cast(ToolType, entry["type"]), description, schema, bool(entry.get("is_parallel"))
    )


def _read_parameter(entry: JsonObject) -> JsonObject:
    return {key: entry[key] for key in ("type", "items", "enum", "description") if key in entry}
