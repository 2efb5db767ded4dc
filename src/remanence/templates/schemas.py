"""Templates on the wire."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints

from remanence.agents.schemas import IdentityRef, SecretName, Tag
from remanence.core.template import Template, TemplateVersion
from remanence.edge.fields import StoredJson, StoredText
from remanence.kit.ids import id_pattern
from remanence.messages.sending import MessageCreate

_NO_PROJECT = "default"

TemplateName = Annotated[str, StringConstraints(pattern=r"^[\w.-]{1,128}$")]
"""No colons and slashes: they part it from its version and its project."""
Strategy = Literal["reconcile-all", "preserve-deleted"]


class FromAgent(BaseModel):
    type: Literal["agent"]
    agent_id: Annotated[str, StringConstraints(pattern=id_pattern("agent"))]
    name: TemplateName | None = None


class FromFile(BaseModel):
    # An agent that is named beside the file would let a key for that agent in.
    model_config = ConfigDict(extra="forbid")

    type: Literal["agent_file"]
    agent_file: StoredJson
    name: TemplateName | None = None
    update_existing_tools: bool = False


TemplateCreate = Annotated[FromAgent | FromFile, Discriminator("type")]


class TemplateUpdate(BaseModel):
    agent_file_json: StoredJson
    save_existing_changes: bool = False
    update_existing_tools: bool = False


class TemplateSave(BaseModel):
    message: StoredText | None = None
    migrate_agents: bool = False
    preserve_core_memories_on_migration: bool = False
    preserve_environment_variables_on_migration: bool = False
    preserve_sources_on_migration: bool = False
    block_reconciliation_strategy: Strategy = "preserve-deleted"


class TemplateRollback(BaseModel):
    version: Annotated[str, StringConstraints(max_length=20)]


class AgentsFromTemplate(BaseModel):
    agent_name: StoredText | None = None
    identity_ids: list[IdentityRef] | None = None
    initial_message_sequence: list[MessageCreate] | None = None
    memory_variables: dict[str, StoredText] = Field(default_factory=dict[str, str])
    tags: list[Tag] | None = None
    tool_variables: dict[SecretName, StoredText] = Field(default_factory=dict[str, str])


def template_body(template: Template) -> dict[str, Any]:
    project = template.project_id or _NO_PROJECT
    return {
        "id": template.id,
        "name": template.name,
        "project_id": project,
        "project_slug": project,
        "latest_version": str(template.latest),
        "template_deployment_slug": f"{project}/{template.name}:{template.latest}",
        "updated_at": template.updated_at,
    }


def versions_body(versions: Sequence[TemplateVersion]) -> dict[str, Any]:
    """`versions` come newest first."""
    return {
        "memory_variables": list(versions[0].memory_variables) if versions else [],
        "versions": [
            {
                "id": each.id,
                "version": str(each.number),
                "message": each.message,
                "created_at": each.created_at,
            }
            for each in versions
        ],
    }
