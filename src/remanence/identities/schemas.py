"""Identities on the wire."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, StringConstraints, model_validator

from remanence.core.identity import Identity, IdentityType, PropertyType, is_of_type
from remanence.edge.fields import StoredJson, StoredText
from remanence.kit.ids import id_pattern

IdentifierKey = Annotated[StoredText, StringConstraints(min_length=1, max_length=255)]
"""Unique, so it is an index key, and those are bounded in PostgreSQL. So is the project."""
ProjectRef = Annotated[StoredText, StringConstraints(max_length=255)]
Name = Annotated[StoredText, StringConstraints(max_length=1000)]
AgentRef = Annotated[str, StringConstraints(pattern=id_pattern("agent"))]
BlockRef = Annotated[str, StringConstraints(pattern=id_pattern("block"))]


class IdentityProperty(BaseModel):
    key: Annotated[StoredText, StringConstraints(min_length=1, max_length=255)]
    value: StoredText | int | float | bool | StoredJson
    type: PropertyType

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not is_of_type(self.value, self.type):
            shape = "an object" if self.type == "json" else f"a {self.type}"
            raise ValueError(f"the value of {self.key!r} is not {shape}, which its type says it is")
        return self


def _check_keys(properties: Sequence[IdentityProperty]) -> Sequence[IdentityProperty]:
    seen: set[str] = set()
    for each in properties:
        if each.key in seen:
            raise ValueError(f"the property {each.key!r} is given twice")
        seen.add(each.key)
    return properties


Properties = Annotated[list[IdentityProperty], AfterValidator(_check_keys)]


class IdentityCreate(BaseModel):
    identifier_key: IdentifierKey
    name: Name
    identity_type: IdentityType
    project_id: ProjectRef | None = None
    agent_ids: list[AgentRef] | None = None
    block_ids: list[BlockRef] | None = None
    properties: Properties | None = None


class IdentityUpdate(BaseModel):
    """What is null or absent stays; a list that is given replaces the one there was."""

    identifier_key: IdentifierKey | None = None
    name: Name | None = None
    identity_type: IdentityType | None = None
    agent_ids: list[AgentRef] | None = None
    block_ids: list[BlockRef] | None = None
    properties: Properties | None = None


def identity_body(identity: Identity) -> dict[str, Any]:
    return {
        "id": identity.id,
        "identifier_key": identity.identifier_key,
        "name": identity.name,
        "identity_type": identity.identity_type,
        "project_id": identity.project_id,
        "agent_ids": list(identity.agent_ids),
        "block_ids": list(identity.block_ids),
        "organization_id": identity.organization_id,
        "properties": list(identity.properties),
    }
