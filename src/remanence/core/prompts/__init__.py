"""The words the product thinks with: one system prompt per kind of agent, and the texts of compaction.

They are files so that they can be read, compared and improved as prose.
"""

from functools import cache
from importlib.resources import files


@cache
def read_text(name: str) -> str:
    """A file of this package, without the newline at its end."""
    return (files(__name__) / name).read_text(encoding="utf-8").rstrip("\n")
