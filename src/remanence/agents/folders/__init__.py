"""Folders that are attached to agents, and the files in them that agents have open."""
