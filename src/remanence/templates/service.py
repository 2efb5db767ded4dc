"""Rules of templates: what is kept of an agent, and how others are made from it."""

import asyncio
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from remanence.agents import repository as agents
from remanence.core.actor import Actor
from remanence.core.conform import as_object
from remanence.core.naming import check_agent_name, new_agent_name
from remanence.core.template import CURRENT, Template, TemplateVersion, fill_variables, find_variables
from remanence.db.database import Database
from remanence.errors import BadArgument
from remanence.kit import json
from remanence.kit.ids import AgentId
from remanence.kit.json import JsonObject
from remanence.templates import repository
from remanence.templates.migrating import Migration
from remanence.templates.schemas import (
    AgentsFromTemplate,
    FromAgent,
    TemplateCreate,
    TemplateSave,
    TemplateUpdate,
)
from remanence.transfer.importing import Prepared
from remanence.transfer.legacy import is_legacy, modernise
from remanence.transfer.options import ExportOptions, ImportOptions
from remanence.transfer.reading import read_file
from remanence.transfer.schemas import EXTRA
from remanence.transfer.service import TransferService

_LEFT_OUT = ("created_at", "metadata", "skills")


@dataclass(frozen=True, slots=True)
class Deployed:
    agent_ids: list[str]
    deployment_id: str
    group_id: str | None


class TemplateService:
    def __init__(self, db: Database, transfer: TransferService) -> None:
        self._db = db
        self._transfer = transfer

    async def create(self, actor: Actor, body: TemplateCreate, project_id: str | None) -> Template:
        """With a first version. Raises NotFound, BadArgument, Invalid, AlreadyExists; then nothing was made."""
        if isinstance(body, FromAgent):
            exported = await self._transfer.export_agent(
                actor, body.agent_id, ExportOptions(is_scrubbed=True)
            )
            given: JsonObject = json.decode(json.encode(exported))
        else:
            given = body.agent_file
        file = await asyncio.to_thread(_plain_file, given)
        wants_tools = not isinstance(body, FromAgent) and body.update_existing_tools
        tools = await self._prepare(actor, file, overrides_tools=True) if wants_tools else None

        def write(connection: Connection) -> Template:
            self._take_tools(connection, actor, tools)
            name = body.name or new_agent_name()
            return repository.insert_template(connection, actor, name, project_id, file, _variables(file))

        return await self._db.write(write)

    async def update(self, actor: Actor, name: str, body: TemplateUpdate) -> str:
        """Changes the version that is being worked on; what happened, in words. Raises what `create` raises."""
        file = await asyncio.to_thread(_plain_file, body.agent_file_json)
        tools = await self._prepare(actor, file, overrides_tools=True) if body.update_existing_tools else None

        def write(connection: Connection) -> str:
            template = repository.get_template(connection, actor, name, locks=True)
            kept = _keep_changes(connection, actor, template) if body.save_existing_changes else ""
            self._take_tools(connection, actor, tools)
            repository.set_current(connection, actor, template, file, _variables(file))
            return f"{kept}The current version of {name} is that of the file."

        return await self._db.write(write)

    async def rollback(self, actor: Actor, name: str, version: str) -> str:
        """What happened, in words. Raises NotFound and BadArgument."""

        def write(connection: Connection) -> str:
            template = repository.get_template(connection, actor, name, locks=True)
            number = _number(template, version)
            if number == CURRENT:
                raise BadArgument("Go back to a version that was saved: a number, or latest.")
            wanted = repository.get_version(connection, template, number)
            kept = _keep_changes(connection, actor, template)
            repository.set_current(connection, actor, template, wanted.file, wanted.memory_variables)
            return f"{kept}The current version of {name} is that of version {number}."

        return await self._db.write(write)

    async def save(self, actor: Actor, name: str, body: TemplateSave) -> Template:
        """The current version as the next one, and agents brought to it if asked. Raises NotFound."""
        saved: Template | None = None
        while saved is None:
            _, current = await self._db.read(self._find, actor, name, "current")
            prepared = await self._prepare(actor, current.file) if body.migrate_agents else None
            saved = await self._db.write(self._save, actor, name, current, prepared, body)
        return saved

    def _save(
        self,
        connection: Connection,
        actor: Actor,
        name: str,
        current: TemplateVersion,
        prepared: Prepared | None,
        body: TemplateSave,
    ) -> Template | None:
        """None if the current version is another by now."""
        template = repository.get_template(connection, actor, name, locks=True)
        if repository.get_version(connection, template, CURRENT).digest != current.digest:
            return None
        template = repository.save_current(connection, actor, template, body.message)
        if prepared is not None:
            version = repository.get_version(connection, template, template.latest)
            importer = self._transfer.importer(connection, actor)
            Migration(importer, prepared, version, body).run(
                repository.list_made(connection, actor, template)
            )
        return template

    async def delete(self, actor: Actor, name: str) -> None:
        """Raises NotFound."""

        def write(connection: Connection) -> None:
            template = repository.get_template(connection, actor, name, locks=True)
            repository.delete_template(connection, actor, template)

        await self._db.write(write)

    async def create_agents(self, actor: Actor, reference: str, body: AgentsFromTemplate) -> Deployed:
        """`reference` is a name with a version: `name:3`, `name:latest`, `name:current`.

        Raises NotFound, Invalid, BadArgument; then nothing was made.
        """
        if body.agent_name is not None:
            check_agent_name(body.agent_name)
        name, _, which = reference.rpartition("/")[2].partition(":")
        template, version = await self._db.read(self._find, actor, name, which)
        filled = _filled(version.file, body.memory_variables)
        prepared = await self._prepare(
            actor, filled, secrets=body.tool_variables, project_id=template.project_id
        )
        bodies = {
            each: made.model_copy(update={"template_id": version.id, "base_template_id": template.id})
            for each, made in prepared.bodies.items()
        }
        lead = prepared.file.agents[0]
        bodies[lead.id] = bodies[lead.id].model_copy(
            update={
                "name": body.agent_name,
                "tags": [*(lead.tags or ()), *(body.tags or ())],
                "identity_ids": body.identity_ids,
                "initial_message_sequence": body.initial_message_sequence,
            }
        )

        def write(connection: Connection) -> Deployed:
            here = repository.get_template(connection, actor, name)  # perhaps no longer
            deployment_id = repository.insert_deployment(connection, actor, here, body.memory_variables)
            importer = self._transfer.importer(connection, actor)
            made = importer.store(replace(prepared, bodies=bodies, begins=True))
            for entity, agent_id in zip(prepared.file.agents, made.agent_ids, strict=True):
                marks = {"deployment_id": deployment_id, "entity_id": entity.id}
                agents.update_agent(connection, AgentId(agent_id), marks)
            groups = [importer.ids[group.id] for group in prepared.file.groups]
            return Deployed(made.agent_ids, deployment_id, groups[0] if groups else None)

        return await self._db.write(write)

    def _find(
        self, connection: Connection, actor: Actor, name: str, which: str
    ) -> tuple[Template, TemplateVersion]:
        template = repository.get_template(connection, actor, name)
        return template, repository.get_version(connection, template, _number(template, which or "latest"))

    async def _prepare(self, actor: Actor, file: JsonObject, **options: object) -> Prepared:
        read = await asyncio.to_thread(read_file, json.encode(file))
        given = ImportOptions(**({"appends_copy": False, "overrides_tools": False} | options))  # pyright: ignore[reportArgumentType]
        return await self._transfer.prepare(actor, read, given)

    def _take_tools(self, connection: Connection, actor: Actor, prepared: Prepared | None) -> None:
        if prepared is not None:
            self._transfer.importer(connection, actor).take_tools(prepared)


def _number(template: Template, version: str) -> int:
    """Raises BadArgument."""
    match version.lower():
        case "latest":
            return template.latest
        case "current" | "dev":
            return CURRENT
        case text if text.isascii() and text.isdigit() and 0 < int(text) <= template.latest:
            return int(text)
        case _:
            raise BadArgument(
                f"{template.name} has no version {version[:40]!r}: say a number from 1 to {template.latest}, "
                "latest or current."
            )


def _keep_changes(connection: Connection, actor: Actor, template: Template) -> str:
    """Saves what is being worked on if it is in no version yet; what happened, in words."""
    if not repository.has_changes(connection, template):
        return ""
    saved = repository.save_current(connection, actor, template, "Saved before it was replaced.")
    return f"What was changed is kept as version {saved.latest}. "


def _plain_file(given: JsonObject) -> JsonObject:
    """The file without anything that was said. Raises BadArgument for what is no agent file."""
    read_file(json.encode(given))
    whole = modernise(given) if is_legacy(given) else given
    bare: JsonObject = {"messages": [], "in_context_message_ids": []}
    empty: JsonObject = {"archives": [], "conversations": []}
    extra = as_object(whole.get(EXTRA)) | empty
    kept = {key: value for key, value in whole.items() if key not in _LEFT_OUT}
    return kept | {"agents": [agent | bare for agent in whole["agents"]], EXTRA: extra}


def _variables(file: JsonObject) -> list[str]:
    return find_variables(str(block.get("value") or "") for block in file.get("blocks") or ())


def _filled(file: JsonObject, values: dict[str, str]) -> JsonObject:
    blocks = [
        block | {"value": fill_variables(str(block.get("value") or ""), values)}
        for block in file.get("blocks") or ()
    ]
    return file | {"blocks": blocks}
