"""Agents to be made again and again: what a template is, and the variables in its memory."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from remanence.core.frozen import Frozen
from remanence.kit.ids import OrgId
from remanence.kit.json import JsonObject

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)\s*\}\}")

CURRENT = 0
"""The number of the version that is being worked on."""


class Template(Frozen):
    id: str
    organization_id: OrgId
    name: str
    project_id: str | None = None
    latest: int
    """The number of the version that was saved last."""
    updated_at: datetime


class TemplateVersion(Frozen):
    id: str
    template_id: str
    number: int
    message: str | None = None
    memory_variables: tuple[str, ...] = ()
    created_at: datetime
    digest: str
    """Of the file: two versions that say the same have the same."""
    file: JsonObject
    """The agents, as an agent file without anything that was said."""


def find_variables(texts: Iterable[str]) -> list[str]:
    """Their names, each once, in the order in which they come up."""
    return list(dict.fromkeys(name for text in texts for name in _VARIABLE.findall(text)))


def fill_variables(text: str, values: Mapping[str, str]) -> str:
    """A variable that has no value stays as it stands."""
    return _VARIABLE.sub(lambda found: values.get(found[1], found[0]), text)
