"""An MCP server over stdio in a few lines, which starts at once. The wire is the standard's; there is no SDK."""

import json
import os
import sys
import types
from typing import Any


def add(a: int, b: int) -> str:
    return str(a + b)


def environment() -> str:
    return " ".join(sorted(os.environ))


def flood(megabytes: int) -> str:
    return "x" * (megabytes * 2**20)


def die() -> str:
    os._exit(1)


TOOLS: dict[str, types.FunctionType] = {each.__name__: each for each in (add, environment, flood, die)}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "tiny", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": schema_of(tool)} for name, tool in TOOLS.items()]}
    text = TOOLS[params["name"]](**params.get("arguments") or {})
    return {"content": [{"type": "text", "text": text}], "isError": False}


def schema_of(tool: types.FunctionType) -> dict[str, Any]:
    names = [name for name in tool.__annotations__ if name != "return"]
    return {"type": "object", "properties": {key: {"type": "integer"} for key in names}, "required": names}


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            result = answer(asked["method"], asked.get("params") or {})
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n")
            sys.stdout.flush()
