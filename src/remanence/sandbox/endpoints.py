"""Routes of the sandbox: how tools are run here, and the variables that all of them see."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from remanence.accounts.auth import ActingUser
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.parameters import id_path, page_parameters
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.errors import BadArgument
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.sandbox import repository
from remanence.sandbox.environments import EnvironmentFailed, Environments, Package
from remanence.sandbox.runner import Sandbox
from remanence.sandbox.schemas import (
    ConfigInput,
    ConfigUpdate,
    LocalConfig,
    SandboxConfig,
    VariableCreate,
    VariableUpdate,
    config_body,
    variable_body,
)

ConfigId = Annotated[str, id_path("sandbox")]


def router(db: Database, vault: Vault, sandbox: Sandbox, environments: Environments) -> APIRouter:
    routes = make_routes("sandbox-config", under="/sandbox-config")

    async def shown(config: SandboxConfig) -> JsonObject:
        level, reason = await sandbox.find_level()
        settings = sandbox.settings
        isolation: JsonObject = {
            "level": level,
            "reason": reason or None,
            "network": settings.has_network,
            "timeout_s": settings.timeout_s,
            "memory_bytes": settings.memory_bytes,
        }
        return config_body(config, isolation)

    @routes.get("/")
    async def list_sandbox_configs(
        actor: ActingUser,
        sandbox_type: str | None = None,
        after: str | None = None,
        limit: int = 1000,
    ) -> JsonBytes:
        """There is always one: what it says of the isolation in force holds for everybody."""
        if after is not None or limit < 1:
            return JsonBytes([])
        found = await db.read(repository.list_configs, actor)
        if not any(each.type == repository.LOCAL for each in found):
            found = [await db.write(repository.ensure_config, actor), *found]
        asked = [each for each in found if sandbox_type in (None, each.type)]
        return JsonBytes([await shown(each) for each in asked[:limit]])

    @routes.post("/")
    async def create_sandbox_config(actor: ActingUser, body: ConfigInput) -> JsonBytes:
        return JsonBytes(await shown(await db.write(repository.create_config, actor, body.config)))

    @routes.post("/local/default")
    async def create_default_local(actor: ActingUser) -> JsonBytes:
        return JsonBytes(await shown(await db.write(repository.ensure_config, actor)))

    @routes.post("/e2b/default")
    async def create_default_e2b(actor: ActingUser) -> JsonBytes:
        """Kept as it is: tools are run on this machine, and `isolation` tells how."""
        return JsonBytes(await shown(await db.write(repository.ensure_config, actor, repository.E2B)))

    @routes.post("/local")
    async def create_custom_local(actor: ActingUser, body: LocalConfig) -> JsonBytes:
        return JsonBytes(await shown(await db.write(repository.create_config, actor, body)))

    @routes.post("/local/recreate-venv")
    async def recreate_environment(actor: ActingUser) -> JsonBytes:
        """The packages of this organisation's configuration, installed anew."""
        config = await db.write(repository.ensure_config, actor)
        wanted = [Package(each["name"], each.get("version")) for each in config.config["pip_requirements"]]
        try:
            await environments.python(wanted, anew=True)
        except EnvironmentFailed as error:
            raise BadArgument(str(error)) from None
        return JsonBytes(await shown(config))

    @routes.patch("/environment-variable/{env_var_id}")
    async def update_variable(
        actor: ActingUser, env_var_id: Annotated[str, id_path("sandbox-env")], body: VariableUpdate
    ) -> JsonBytes:
        return JsonBytes(
            variable_body(await db.write(repository.update_variable, actor, env_var_id, body, vault))
        )

    @routes.delete("/environment-variable/{env_var_id}", status_code=204)
    async def delete_variable(
        actor: ActingUser, env_var_id: Annotated[str, id_path("sandbox-env")]
    ) -> Response:
        await db.write(repository.delete_variable, actor, env_var_id, vault)
        return Response(status_code=204)

    @routes.patch("/{sandbox_config_id}")
    async def update_sandbox_config(
        actor: ActingUser, sandbox_config_id: ConfigId, body: ConfigUpdate
    ) -> JsonBytes:
        return JsonBytes(
            await shown(await db.write(repository.update_config, actor, sandbox_config_id, body.config))
        )

    @routes.delete("/{sandbox_config_id}", status_code=204)
    async def delete_sandbox_config(actor: ActingUser, sandbox_config_id: ConfigId) -> Response:
        await db.write(repository.delete_config, actor, sandbox_config_id)
        return Response(status_code=204)

    @routes.get("/{sandbox_config_id}/environment-variable")
    async def list_variables(
        actor: ActingUser,
        sandbox_config_id: ConfigId,
        page: Annotated[Page, Depends(page_parameters(limit=1000, order="asc"))],
    ) -> JsonBytes:
        found = await db.read(repository.list_variables, actor, sandbox_config_id, page, vault)
        return JsonBytes([variable_body(each) for each in found])

    @routes.post("/{sandbox_config_id}/environment-variable")
    async def create_variable(
        actor: ActingUser, sandbox_config_id: ConfigId, body: VariableCreate
    ) -> JsonBytes:
        return JsonBytes(
            variable_body(await db.write(repository.create_variable, actor, sandbox_config_id, body, vault))
        )

    return routes
