"""An MCP server on the official SDK, for tests: well-behaved tools and others. Run it as a program for stdio."""

import asyncio
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer


def make_stub(*, is_changed: bool = False) -> MCPServer:
    stub = MCPServer("stub")

    @stub.tool()
    def add(a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)

    @stub.tool()
    def environment() -> str:
        """The names of the variables that this process sees."""
        return " ".join(sorted(os.environ))

    @stub.tool()
    def fail() -> str:
        """Fails."""
        raise ValueError("It went wrong.")

    @stub.tool()
    def flood(megabytes: int) -> str:
        """Says a great deal."""
        return "x" * (megabytes * 2**20)

    @stub.tool()
    def die() -> str:
        """Ends the server in the middle of the call."""
        os._exit(1)

    @stub.tool()
    async def dream() -> str:
        """Never answers."""
        await asyncio.Event().wait()
        return "never"

    if is_changed:

        @stub.tool(name="greet")
        def greet_loudly(name: str, loudly: bool = False) -> str:
            """Say hello, perhaps loudly."""
            return f"HELLO {name}" if loudly else f"Hello {name}"
    else:

        @stub.tool()
        def greet(name: str) -> str:
            """Say hello."""
            return f"Hello {name}"

        @stub.tool()
        def leave() -> str:
            """Say goodbye."""
            return "Goodbye"

    return stub


@contextmanager
def http_stub(kind: str, **options: Any) -> Generator[str]:
    """The address of a stub that is served over HTTP."""
    from tests.support.asgi import serve_in_thread  # not needed, and slow to load, where it speaks over stdio

    stub = make_stub(**options)
    app = stub.sse_app() if kind == "sse" else stub.streamable_http_app()
    with serve_in_thread(app) as base_url:
        yield f"{base_url}/{'sse' if kind == 'sse' else 'mcp'}"


if __name__ == "__main__":
    make_stub(is_changed="changed" in sys.argv).run()
