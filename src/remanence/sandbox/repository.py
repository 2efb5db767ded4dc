"""SQL for sandbox configurations and their variables, and for all the variables that a tool sees.

What belongs to another organisation is not there.
"""

from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.db.dialect import insert_missing
from remanence.db.paging import fetch_page
from remanence.db.tables import AgentRow, AgentSecretRow, SandboxConfigRow, SandboxVariableRow
from remanence.errors import AlreadyExists, BadArgument, NotFound
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_id
from remanence.kit.json import JsonObject
from remanence.kit.vault import Vault
from remanence.sandbox.schemas import (
    AnyConfig,
    E2bConfig,
    LocalConfig,
    SandboxConfig,
    Stamp,
    Variable,
    VariableCreate,
    VariableUpdate,
)

LOCAL = "local"
E2B = "e2b"
_SHAPES: dict[str, type[AnyConfig]] = {LOCAL: LocalConfig, E2B: E2bConfig}


def ensure_config(connection: Connection, actor: Actor, kind: str = LOCAL) -> SandboxConfig:
    """The configuration of this organisation, made if there is none yet."""
    found = find_config(connection, actor, kind)
    if found is not None:
        return found
    _insert_config(connection, actor, kind, _SHAPES[kind]())
    found = find_config(connection, actor, kind)
    assert found is not None, "it was just made, here or elsewhere"
    return found


def find_config(connection: Connection, actor: Actor, kind: str) -> SandboxConfig | None:
    return next((each for each in list_configs(connection, actor) if each.type == kind), None)


def list_configs(connection: Connection, actor: Actor) -> list[SandboxConfig]:
    """The newest first; of each kind there is at most one."""
    rows = connection.execute(
        select(SandboxConfigRow.__table__)
        .where(SandboxConfigRow.organization_id == actor.organization_id)
        .order_by(SandboxConfigRow.created_at.desc(), SandboxConfigRow.id)
    )
    return [_config(row) for row in rows]


def create_config(connection: Connection, actor: Actor, config: AnyConfig) -> SandboxConfig:
    """Raises AlreadyExists: there is one of each kind for each organisation."""
    kind = next(kind for kind, shape in _SHAPES.items() if isinstance(config, shape))
    if find_config(connection, actor, kind) is not None:
        raise AlreadyExists(f"There is a sandbox configuration of the type {kind} already; update that one.")
    _insert_config(connection, actor, kind, config)
    return ensure_config(connection, actor, kind)


def get_config(connection: Connection, actor: Actor, config_id: str) -> SandboxConfig:
    """Raises NotFound."""
    row = connection.execute(
        select(SandboxConfigRow.__table__).where(
            SandboxConfigRow.id == config_id, SandboxConfigRow.organization_id == actor.organization_id
        )
    ).first()
    if row is None:
        raise NotFound(f"There is no sandbox configuration {config_id}.")
    return _config(row)


def update_config(
    connection: Connection, actor: Actor, config_id: str, config: AnyConfig | None
) -> SandboxConfig:
    """Raises NotFound, and BadArgument for settings of another kind."""
    found = get_config(connection, actor, config_id)
    if config is not None:
        shape = _SHAPES[found.type]
        if not isinstance(config, shape):  # it may still be one: kinds have settings in common
            try:
                config = shape.model_validate(config.model_dump(exclude_unset=True))
            except ValueError:
                raise BadArgument(f"These are not settings of a sandbox of the type {found.type}.") from None
        connection.execute(
            update(SandboxConfigRow)
            .where(SandboxConfigRow.id == found.id)
            .values(config=config.model_dump(mode="json"), last_updated_by_id=actor.user_id)
        )
    return get_config(connection, actor, config_id)


def delete_config(connection: Connection, actor: Actor, config_id: str) -> None:
    """With all its variables. Raises NotFound."""
    found = get_config(connection, actor, config_id)
    connection.execute(delete(SandboxConfigRow).where(SandboxConfigRow.id == found.id))


def list_variables(
    connection: Connection, actor: Actor, config_id: str, page: Page, vault: Vault
) -> list[Variable]:
    """Raises NotFound."""
    get_config(connection, actor, config_id)
    rows = fetch_page(
        connection,
        select(SandboxVariableRow.__table__).where(SandboxVariableRow.sandbox_config_id == config_id),
        page,
        key=SandboxVariableRow.created_at,
        id_column=SandboxVariableRow.id,
        scope=(SandboxVariableRow.organization_id == actor.organization_id,),
    )
    return [_variable(row, vault) for row in rows]


def create_variable(
    connection: Connection, actor: Actor, config_id: str, body: VariableCreate, vault: Vault
) -> Variable:
    """Raises NotFound, and AlreadyExists for a name that is taken."""
    config = get_config(connection, actor, config_id)
    _check_free(connection, config.id, body.key, None)
    variable_id = new_id("sandbox-env")
    connection.execute(
        insert(SandboxVariableRow).values(
            id=variable_id,
            organization_id=actor.organization_id,
            sandbox_config_id=config.id,
            key=body.key,
            value_enc=vault.encrypt(body.value),
            description=body.description,
            created_by_id=actor.user_id,
            last_updated_by_id=actor.user_id,
        )
    )
    return get_variable(connection, actor, variable_id, vault)


def get_variable(connection: Connection, actor: Actor, variable_id: str, vault: Vault) -> Variable:
    """Raises NotFound."""
    row = connection.execute(
        select(SandboxVariableRow.__table__).where(
            SandboxVariableRow.id == variable_id, SandboxVariableRow.organization_id == actor.organization_id
        )
    ).first()
    if row is None:
        raise NotFound(f"There is no sandbox variable {variable_id}.")
    return _variable(row, vault)


def update_variable(
    connection: Connection, actor: Actor, variable_id: str, body: VariableUpdate, vault: Vault
) -> Variable:
    """Raises NotFound and AlreadyExists."""
    found = get_variable(connection, actor, variable_id, vault)
    changes: dict[str, Any] = {"last_updated_by_id": actor.user_id}
    if body.key is not None:
        _check_free(connection, found.sandbox_config_id, body.key, found.id)
        changes["key"] = body.key
    if body.value is not None:
        changes["value_enc"] = vault.encrypt(body.value)
    if body.description is not None:
        changes["description"] = body.description
    connection.execute(update(SandboxVariableRow).where(SandboxVariableRow.id == found.id).values(**changes))
    return get_variable(connection, actor, variable_id, vault)


def delete_variable(connection: Connection, actor: Actor, variable_id: str, vault: Vault) -> None:
    """Raises NotFound."""
    found = get_variable(connection, actor, variable_id, vault)
    connection.execute(delete(SandboxVariableRow).where(SandboxVariableRow.id == found.id))


def load_variables(
    connection: Connection, actor: Actor, agent_id: str | None, vault: Vault
) -> tuple[dict[str, str], JsonObject]:
    """What tools of this organisation see, the agent's own secrets above the rest; and the configuration."""
    config = connection.execute(
        select(SandboxConfigRow.config).where(
            SandboxConfigRow.organization_id == actor.organization_id, SandboxConfigRow.type == LOCAL
        )
    ).scalar_one_or_none()
    found: dict[str, str] = {}
    if config is not None:
        rows = connection.execute(
            select(SandboxVariableRow.key, SandboxVariableRow.value_enc)
            .join(SandboxConfigRow, SandboxConfigRow.id == SandboxVariableRow.sandbox_config_id)
            .where(
                SandboxVariableRow.organization_id == actor.organization_id, SandboxConfigRow.type == LOCAL
            )
        )
        found |= {row.key: row.value_enc for row in rows}
    if agent_id is not None:
        rows = connection.execute(
            select(AgentSecretRow.key, AgentSecretRow.value_enc)
            .join(AgentRow, AgentRow.id == AgentSecretRow.agent_id)
            .where(AgentSecretRow.agent_id == agent_id, AgentRow.organization_id == actor.organization_id)
        )
        found |= {row.key: row.value_enc for row in rows}
    return {key: vault.decrypt(value) for key, value in found.items()}, config or {}


def _insert_config(connection: Connection, actor: Actor, kind: str, config: AnyConfig) -> None:
    """Two requests may do this at once; one of them is enough."""
    now = utc_now()
    row = {
        "id": new_id("sandbox"),
        "organization_id": actor.organization_id,
        "type": kind,
        "config": config.model_dump(mode="json"),
        "created_by_id": actor.user_id,
        "last_updated_by_id": actor.user_id,
        "created_at": now,
        "updated_at": now,
    }
    insert_missing(connection, SandboxConfigRow, [row])


def _check_free(connection: Connection, config_id: str, key: str, own: str | None) -> None:
    taken = connection.execute(
        select(SandboxVariableRow.id).where(
            SandboxVariableRow.sandbox_config_id == config_id, SandboxVariableRow.key == key
        )
    ).scalar_one_or_none()
    if taken is not None and taken != own:
        raise AlreadyExists(f"There is a variable {key} already; update that one.")


def _config(row: Any) -> SandboxConfig:
    return SandboxConfig(row.id, row.organization_id, row.type, row.config, _stamp(row))


def _variable(row: Any, vault: Vault) -> Variable:
    return Variable(
        id=row.id,
        organization_id=row.organization_id,
        sandbox_config_id=row.sandbox_config_id,
        key=row.key,
        value=vault.decrypt(row.value_enc),
        description=row.description,
        stamp=_stamp(row),
    )


def _stamp(row: Any) -> Stamp:
    return Stamp(row.created_by_id, row.last_updated_by_id, row.created_at, row.updated_at)
