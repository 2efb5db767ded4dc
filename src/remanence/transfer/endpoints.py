"""Routes of agent files."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from fastapi import APIRouter, File, Form, Header, UploadFile
from pydantic import BaseModel, Field, StringConstraints
from starlette.responses import Response

from remanence.accounts.auth import ActingUser
from remanence.agents.schemas import ProjectRef
from remanence.core.actor import Actor
from remanence.edge.fields import StoredText
from remanence.edge.parameters import AgentIdPath
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.errors import BadArgument
from remanence.kit import json
from remanence.kit.ids import id_pattern
from remanence.kit.json import JsonObject
from remanence.transfer.options import MAX_BYTES, ExportOptions, ImportOptions, read_secrets

if TYPE_CHECKING:
    from remanence.transfer.service import Imported

ConversationRef = Annotated[str, StringConstraints(pattern=id_pattern("conv"))]


class Skill(BaseModel):
    """Instructions that travel with an agent and that this server does not read."""

    name: StoredText
    files: dict[str, StoredText] | None = None
    source_url: StoredText | None = None


class ExportRequest(BaseModel):
    skills: list[Skill] = Field(default_factory=list[Skill])
    conversation_id: ConversationRef | None = None
    scrub_messages: bool = False


class Transfer(Protocol):
    """What the routes need of the service, which is loaded when it is first asked for."""

    async def export_agent(self, actor: Actor, agent_id: str, options: ExportOptions) -> JsonObject: ...

    async def import_file(self, actor: Actor, body: bytes, options: ImportOptions) -> "Imported": ...


def router(open_service: Callable[[], Transfer]) -> APIRouter:
    routes = make_routes("agents")

    async def as_file(actor: Actor, agent_id: str, options: ExportOptions) -> Response:
        found = await open_service().export_agent(actor, agent_id, options)
        return Response(await asyncio.to_thread(json.encode_indented, found), media_type="application/json")

    @routes.get("/agents/{agent_id}/export")
    async def export_agent(
        actor: ActingUser,
        agent_id: AgentIdPath,
        conversation_id: ConversationRef | None = None,
        scrub_messages: bool = False,
        use_legacy_format: bool = False,
    ) -> Response:
        if use_legacy_format:
            raise BadArgument("Agent files are only written in the current format; the older one is read.")
        return await as_file(actor, agent_id, ExportOptions(conversation_id, scrub_messages))

    @routes.post("/agents/{agent_id}/export")
    async def export_agent_with_skills(
        actor: ActingUser, agent_id: AgentIdPath, body: ExportRequest | None = None
    ) -> Response:
        asked = body or ExportRequest()
        skills: list[JsonObject] = [skill.model_dump() for skill in asked.skills]
        return await as_file(
            actor, agent_id, ExportOptions(asked.conversation_id, asked.scrub_messages, skills)
        )

    @routes.post("/agents/import")
    async def import_agents(
        actor: ActingUser,
        file: Annotated[UploadFile, File()],
        override_existing_tools: Annotated[bool, Form()] = True,
        strip_messages: Annotated[bool, Form()] = False,
        append_copy_suffix: Annotated[bool, Form()] = True,
        secrets: Annotated[str | None, Form()] = None,
        name: Annotated[str | None, Form()] = None,
        embedding: Annotated[str | None, Form()] = None,
        model: Annotated[str | None, Form()] = None,
        override_name: Annotated[str | None, Form()] = None,
        override_embedding_handle: Annotated[str | None, Form()] = None,
        override_model_handle: Annotated[str | None, Form()] = None,
        project_id: Annotated[ProjectRef | None, Form()] = None,
        env_vars_json: Annotated[str | None, Form()] = None,
        x_override_embedding_model: Annotated[str | None, Header()] = None,
        x_project_id: Annotated[ProjectRef | None, Header()] = None,
    ) -> JsonBytes:
        options = ImportOptions(
            name=name or override_name or None,
            model=model or override_model_handle or None,
            embedding=embedding or override_embedding_handle or x_override_embedding_model or None,
            secrets=read_secrets(env_vars_json, "env_vars_json") | read_secrets(secrets, "secrets"),
            project_id=project_id or x_project_id or None,
            appends_copy=append_copy_suffix,
            overrides_tools=override_existing_tools,
            strips_messages=strip_messages,
        )
        imported = await open_service().import_file(actor, await file.read(MAX_BYTES + 1), options)
        answer: dict[str, Any] = {"agent_ids": imported.agent_ids}
        return JsonBytes(answer | ({"warnings": imported.warnings} if imported.warnings else {}))

    return routes
