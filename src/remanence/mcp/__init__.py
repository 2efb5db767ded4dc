"""Talking to MCP servers: links that are kept open while they are used, calls that end in bounded time.

It promises that a server that is slow, dead, hostile or endless costs its caller an error and nobody
else anything. It knows no tool records and no database.
"""
