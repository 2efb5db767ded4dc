"""Agents: creating, reading, changing and deleting them, and the snapshot that a run works on."""
