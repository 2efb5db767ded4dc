"""Organisations and users on the wire."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from remanence.edge.fields import StoredText
from remanence.kit.ids import id_pattern
from remanence.kit.json import JsonObject

Name = Annotated[StoredText, StringConstraints(min_length=1, max_length=200)]
OrgRef = Annotated[str, Field(pattern=id_pattern("org"))]


class OrganizationCreate(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    privileged_tools: bool | None = False


class OrganizationUpdate(OrganizationCreate):
    """What is not given stays as it is."""


class UserCreate(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    organization_id: OrgRef


class UserUpdate(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(pattern=id_pattern("user"))]
    name: Name | None = None
    organization_id: OrgRef | None = None


def organization_body(row: Any) -> JsonObject:
    return {
        "id": row.id,
        "name": row.name,
        "created_at": row.created_at,
        "privileged_tools": row.privileged_tools,
    }


def user_body(row: Any) -> JsonObject:
    return {
        "id": row.id,
        "organization_id": row.organization_id,
        "name": row.name,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "is_deleted": row.is_deleted,
    }
