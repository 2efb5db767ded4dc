"""Killing servers at bad moments, and looking for what was lost: `make chaos`."""
