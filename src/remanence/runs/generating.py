"""One bare call of an agent's model: without its memory, its tools or its history, and remembered nowhere."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, StringConstraints

from remanence.accounts.auth import ActingUser
from remanence.agents import repository as agents
from remanence.core.event import RunUsage
from remanence.core.llm import ModelRequest, ResponseFormat
from remanence.db.database import Database
from remanence.edge.fields import StoredJson, StoredText
from remanence.edge.parameters import AgentIdPath
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.llm.asking import said, whole_reply, words_of
from remanence.llm.catalogue import Catalogue
from remanence.llm.registry import AdapterRegistry
from remanence.messages.frames import usage_body
from remanence.runs.spending.service import Spending


class GenerateRequest(BaseModel):
    prompt: Annotated[StoredText, StringConstraints(min_length=1)]
    system_prompt: StoredText | None = None
    override_model: str | None = None
    response_schema: StoredJson | None = None


def router(db: Database, catalogue: Catalogue, adapters: AdapterRegistry, spending: Spending) -> APIRouter:
    routes = make_routes("agents")

    @routes.post("/agents/{agent_id}/generate", operation_id="generate_completion")
    async def generate(actor: ActingUser, agent_id: AgentIdPath, body: GenerateRequest) -> JsonBytes:
        agent = await db.read(agents.get_agent, actor, agent_id)
        config = agent.llm_config
        if body.override_model is not None:
            config = await catalogue.resolve_llm(body.override_model, actor.organization_id)
        messages = [said("user", body.prompt, agent.id)]
        if body.system_prompt:
            messages.insert(0, said("system", body.system_prompt, agent.id))
        form = None
        if body.response_schema is not None:
            schema = {"name": "answer", "schema": body.response_schema}
            form = ResponseFormat(type="json_schema", json_schema=schema)
        request = ModelRequest(
            config=config.model_copy(update={"response_format": None}),
            messages=messages,
            response_format=form,
        )
        may_spend = partial(spending.check, actor.organization_id, agent.id)
        reply = await whole_reply(adapters.stream(request, actor.organization_id, may_spend))
        answered_by = reply.answered_by or config
        usage = usage_body(RunUsage().plus(reply.usage, tracks_context=False)) | {"step_count": 0}
        return JsonBytes({"content": words_of(reply), "model": answered_by.model, "usage": usage})

    return routes
