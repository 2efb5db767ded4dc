"""Runs tools that people wrote: their variables, their packages, the sandbox, and what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.block import Block
from remanence.core.tool import Requirement, Tool
from remanence.db.database import Database
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.sandbox.call import Job, OnCall, Outcome
from remanence.sandbox.environments import EnvironmentFailed, Environments, Package
from remanence.sandbox.node import Script, extra_packages, find_node, script_job
from remanence.sandbox.repository import load_variables
from remanence.sandbox.runner import Sandbox, SandboxUnavailable
from remanence.tools.builtin.outcome import ToolFailure
from remanence.tools.callback import ToolClients

NO_NODE = "node is not installed on the server, so tools in TypeScript and JavaScript cannot be run there."


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom code is run. Without an agent there are no secrets of one."""

    actor: Actor
    agent: Agent | None = None
    blocks: tuple[Block, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])


class CodeTools:
    def __init__(
        self, db: Database, vault: Vault, sandbox: Sandbox, environments: Environments, clients: ToolClients
    ) -> None:
        self._db = db
        self._vault = vault
        self._sandbox = sandbox
        self._environments = environments
        self._clients = clients

    async def run_tool(self, tool: Tool, args: JsonObject, caller: Caller) -> Outcome:
        """Raises ToolFailure where nothing could be run at all."""
        env, packages = await self._surroundings(caller)
        env |= {"LETTA_TOOL_ID": tool.id, **caller.env}
        source = tool.source_code or ""
        if tool.source_type in ("typescript", "javascript"):
            script = Script(tool.source_type, source, tool.name, args)
            return await self._run_script(script, env, _packages(tool.npm_requirements))
        packages += _packages(tool.pip_requirements)
        client, granted = self._clients.for_agent(caller.actor, caller.agent, env)
        job = Job(
            "function",
            source=source,
            name=tool.name,
            args=args,
            env=env,
            paths=await self._paths(packages),
            agent_state=_state(caller) if "agent_state" in source else None,
            client=client if "client" in source else None,
            granted=granted,
        )
        return await self._run(job)

    async def run_python(
        self, code: str, caller: Caller, *, tools: Sequence[str] = (), on_call: OnCall | None = None
    ) -> Outcome:
        """A script, with functions for the tools it may call. Raises ToolFailure."""
        env, packages = await self._surroundings(caller)
        job = Job("script", source=code, env=env, paths=await self._paths(packages), tools=tools)
        return await self._run(job, on_call)

    async def run_script(self, language: str, code: str, caller: Caller) -> Outcome:
        env, _ = await self._surroundings(caller)
        return await self._run_script(Script(language, code, None, {}), env, [])

    async def run_program(self, argv: Sequence[str], files: Mapping[str, str], caller: Caller) -> Outcome:
        env, _ = await self._surroundings(caller)
        return await self._run(Job("program", argv=argv, files=files, env=env))

    async def variables(self, actor: Actor, agent: Agent | None) -> dict[str, str]:
        """What this agent's tools find in their environment."""
        return (await self._surroundings(Caller(actor, agent)))[0]

    async def _surroundings(self, caller: Caller) -> tuple[dict[str, str], list[Package]]:
        agent = caller.agent
        variables, config = await self._db.read(
            load_variables, caller.actor, agent.id if agent else None, self._vault
        )
        if agent is not None:
            variables |= {"LETTA_AGENT_ID": agent.id}
            if agent.project_id:
                variables |= {"LETTA_PROJECT_ID": agent.project_id}
        wanted = config.get("pip_requirements") or ()
        return variables, [Package(each["name"], each.get("version")) for each in wanted]

    async def _paths(self, packages: Sequence[Package]) -> list[str]:
        try:
            folder = await self._environments.python(packages)
        except EnvironmentFailed as error:
            raise ToolFailure(str(error)) from None
        return [str(folder)] if folder else []

    async def _run_script(self, script: Script, env: Mapping[str, str], packages: list[Package]) -> Outcome:
        node = find_node()
        if node is None:
            raise ToolFailure(NO_NODE)
        try:
            needed = [*packages, *await extra_packages(script.language, node)]
            environment = await self._environments.node(needed)
        except EnvironmentFailed as error:
            raise ToolFailure(str(error)) from None
        return await self._run(script_job(script, node, environment, env))

    async def _run(self, job: Job, on_call: OnCall | None = None) -> Outcome:
        try:
            return await self._sandbox.run(job, on_call=on_call)
        except SandboxUnavailable as error:
            raise ToolFailure(str(error)) from None


def _packages(requirements: Sequence[Requirement] | None) -> list[Package]:
    return [Package(each.name, each.version) for each in requirements or ()]


def _state(caller: Caller) -> JsonObject | None:
    """What a tool that takes `agent_state` may know of its agent."""
    agent = caller.agent
    if agent is None:
        return None
    blocks = [
        {
            "id": block.id,
            "label": block.label,
            "value": block.value,
            "limit": block.limit,
            "description": block.description,
            "read_only": block.read_only,
        }
        for block in caller.blocks
    ]
    return {
        "id": agent.id,
        "name": agent.name,
        "agent_type": agent.agent_type,
        "description": agent.description,
        "metadata": agent.metadata,
        "system": agent.system,
        "timezone": agent.timezone,
        "blocks": blocks,
        "memory": {"blocks": blocks},
    }
