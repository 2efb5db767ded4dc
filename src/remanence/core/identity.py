"""On whose behalf agents act: a person, an organisation, or whatever else an application serves."""

from typing import Any, Literal

from remanence.core.frozen import Frozen
from remanence.kit.ids import OrgId

IdentityType = Literal["org", "user", "other"]
PropertyType = Literal["string", "number", "boolean", "json"]

_VALUE_TYPES: dict[PropertyType, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "json": (dict,),
}


class Identity(Frozen):
    id: str
    organization_id: OrgId
    identifier_key: str
    """The application's own name for it, such as the id of a customer."""
    name: str
    identity_type: IdentityType
    project_id: str | None = None
    properties: tuple[dict[str, Any], ...] = ()
    """Each with a key, a value and the value's type."""
    agent_ids: tuple[str, ...] = ()
    block_ids: tuple[str, ...] = ()


def is_of_type(value: object, type: PropertyType) -> bool:
    # True is a number to Python, but to nobody else.
    return isinstance(value, _VALUE_TYPES[type]) and (type == "boolean" or not isinstance(value, bool))
