"""MCP servers on record, and their tools among the others."""
