"""SQL for identities, and for what belongs to them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from remanence.core.actor import Actor
from remanence.core.identity import Identity, IdentityType
from remanence.core.page import Page
from remanence.db.dialect import insert_missing
from remanence.db.paging import fetch_page
from remanence.db.tables import AgentRow, BlockRow, IdentitiesAgentsRow, IdentitiesBlocksRow, IdentityRow
from remanence.errors import AlreadyExists, NotFound
from remanence.identities.schemas import IdentityCreate, IdentityProperty, IdentityUpdate
from remanence.kit.clock import utc_now
from remanence.kit.ids import new_id

_COLUMNS = [column for column in IdentityRow.__table__.columns if column.name in Identity.model_fields]


def create_identity(connection: Connection, actor: Actor, body: IdentityCreate) -> Identity:
    """Raises AlreadyExists for a key that the project uses, NotFound for what is to belong to it."""
    if _find_by_key(connection, actor, body.identifier_key, body.project_id) is not None:
        raise _taken(body.identifier_key)
    identity_id = new_id("identity")
    try:
        with connection.begin_nested():
            connection.execute(
                insert(IdentityRow).values(
                    id=identity_id,
                    organization_id=actor.organization_id,
                    identifier_key=body.identifier_key,
                    name=body.name,
                    identity_type=body.identity_type,
                    project_id=body.project_id,
                    properties=_dump(body.properties or ()),
                    created_by_id=actor.user_id,
                    last_updated_by_id=actor.user_id,
                )
            )
    except IntegrityError:  # somebody else was a moment earlier
        raise _taken(body.identifier_key) from None
    _set_belongings(connection, actor, identity_id, body)
    return get_identity(connection, actor, identity_id)


def upsert_identity(connection: Connection, actor: Actor, body: IdentityCreate) -> Identity:
    """The one of that key with what the body says changed, or a new one. Raises NotFound."""
    known = _find_by_key(connection, actor, body.identifier_key, body.project_id)
    if known is None:
        try:
            return create_identity(connection, actor, body)
        except AlreadyExists:
            known = _find_by_key(connection, actor, body.identifier_key, body.project_id)
            if known is None:
                raise
    fields = body.model_dump(include=body.model_fields_set - {"project_id"})
    return update_identity(connection, actor, known, IdentityUpdate.model_validate(fields))


def update_identity(connection: Connection, actor: Actor, identity_id: str, body: IdentityUpdate) -> Identity:
    """Raises NotFound and AlreadyExists; then nothing has changed."""
    before = get_identity(connection, actor, identity_id)
    changes: dict[str, Any] = {
        name: value
        for name in ("identifier_key", "name", "identity_type")
        if (value := getattr(body, name)) is not None
    }
    if body.properties is not None:
        changes["properties"] = _dump(body.properties)
    if body.identifier_key not in (None, before.identifier_key):
        assert body.identifier_key is not None
        if _find_by_key(connection, actor, body.identifier_key, before.project_id) is not None:
            raise _taken(body.identifier_key)
    if changes:
        _change(connection, actor, identity_id, changes)
    _set_belongings(connection, actor, identity_id, body)
    return get_identity(connection, actor, identity_id)


def upsert_properties(
    connection: Connection, actor: Actor, identity_id: str, properties: Sequence[IdentityProperty]
) -> Identity:
    """Changes those of these keys, adds the others, and leaves the rest. Raises NotFound."""
    connection.execute(select(IdentityRow.id).where(IdentityRow.id == identity_id).with_for_update())
    identity = get_identity(connection, actor, identity_id)
    merged = {each["key"]: each for each in (*identity.properties, *_dump(properties))}
    _change(connection, actor, identity_id, {"properties": list(merged.values())})
    return get_identity(connection, actor, identity_id)


def get_identity(connection: Connection, actor: Actor, identity_id: str) -> Identity:
    """Raises NotFound."""
    rows = connection.execute(select(*_COLUMNS).where(*_mine(actor), IdentityRow.id == identity_id)).all()
    if not rows:
        raise NotFound(f"There is no identity {identity_id}.")
    return _identities(connection, rows)[0]


def list_identities(
    connection: Connection,
    actor: Actor,
    page: Page,
    *,
    name: str | None = None,
    project_id: str | None = None,
    identifier_key: str | None = None,
    identity_type: IdentityType | None = None,
) -> list[Identity]:
    """Raises NotFound for an unknown cursor."""
    statement = select(*_COLUMNS).where(*_mine(actor))
    for column, value in (
        (IdentityRow.name, name),
        (IdentityRow.project_id, project_id),
        (IdentityRow.identifier_key, identifier_key),
        (IdentityRow.identity_type, identity_type),
    ):
        if value is not None:
            statement = statement.where(column == value)
    rows = fetch_page(
        connection,
        statement,
        page,
        key=IdentityRow.created_at,
        id_column=IdentityRow.id,
        scope=[IdentityRow.organization_id == actor.organization_id],
    )
    return _identities(connection, rows)


def count_identities(connection: Connection, actor: Actor) -> int:
    return connection.scalar(select(func.count(IdentityRow.id)).where(*_mine(actor))) or 0


def list_identities_of_agents(
    connection: Connection, actor: Actor, agent_ids: Sequence[str]
) -> dict[str, list[Identity]]:
    """The identities that each of these agents belongs to, oldest first."""
    links = connection.execute(
        select(IdentitiesAgentsRow.agent_id, IdentitiesAgentsRow.identity_id)
        .join(IdentityRow, IdentityRow.id == IdentitiesAgentsRow.identity_id)
        .where(IdentitiesAgentsRow.agent_id.in_(agent_ids), *_mine(actor))
        .order_by(IdentityRow.created_at, IdentityRow.id)
    ).all()
    if not links:
        return {}
    wanted = {link.identity_id for link in links}
    rows = connection.execute(select(*_COLUMNS).where(IdentityRow.id.in_(wanted))).all()
    known = {identity.id: identity for identity in _identities(connection, rows)}
    found: dict[str, list[Identity]] = {}
    for link in links:
        found.setdefault(link.agent_id, []).append(known[link.identity_id])
    return found


def delete_identity(connection: Connection, actor: Actor, identity_id: str) -> None:
    """What belonged to it stays. Raises NotFound."""
    get_identity(connection, actor, identity_id)
    connection.execute(delete(IdentityRow).where(IdentityRow.id == identity_id))


def attach_agent(connection: Connection, actor: Actor, identity_id: str, agent_id: str) -> None:
    """Raises NotFound."""
    _check_both(connection, actor, identity_id, AgentRow, agent_id)
    insert_missing(connection, IdentitiesAgentsRow, [{"identity_id": identity_id, "agent_id": agent_id}])


def detach_agent(connection: Connection, actor: Actor, identity_id: str, agent_id: str) -> None:
    """Raises NotFound."""
    _check_both(connection, actor, identity_id, AgentRow, agent_id)
    link = IdentitiesAgentsRow
    connection.execute(delete(link).where(link.identity_id == identity_id, link.agent_id == agent_id))


def attach_block(connection: Connection, actor: Actor, identity_id: str, block_id: str) -> None:
    """Raises NotFound."""
    _check_both(connection, actor, identity_id, BlockRow, block_id)
    insert_missing(connection, IdentitiesBlocksRow, [{"identity_id": identity_id, "block_id": block_id}])


def detach_block(connection: Connection, actor: Actor, identity_id: str, block_id: str) -> None:
    """Raises NotFound."""
    _check_both(connection, actor, identity_id, BlockRow, block_id)
    link = IdentitiesBlocksRow
    connection.execute(delete(link).where(link.identity_id == identity_id, link.block_id == block_id))


def _change(connection: Connection, actor: Actor, identity_id: str, changes: dict[str, Any]) -> None:
    values = changes | {"updated_at": utc_now(), "last_updated_by_id": actor.user_id}
    try:
        with connection.begin_nested():
            connection.execute(update(IdentityRow).where(IdentityRow.id == identity_id).values(**values))
    except IntegrityError:
        raise _taken(changes["identifier_key"]) from None


def _set_belongings(
    connection: Connection, actor: Actor, identity_id: str, body: IdentityCreate | IdentityUpdate
) -> None:
    if body.agent_ids is not None:
        _check_known(connection, actor, AgentRow, body.agent_ids)
        connection.execute(delete(IdentitiesAgentsRow).where(IdentitiesAgentsRow.identity_id == identity_id))
        rows = [{"identity_id": identity_id, "agent_id": each} for each in body.agent_ids]
        insert_missing(connection, IdentitiesAgentsRow, rows)
    if body.block_ids is not None:
        _check_known(connection, actor, BlockRow, body.block_ids)
        connection.execute(delete(IdentitiesBlocksRow).where(IdentitiesBlocksRow.identity_id == identity_id))
        rows = [{"identity_id": identity_id, "block_id": each} for each in body.block_ids]
        insert_missing(connection, IdentitiesBlocksRow, rows)


def _check_both(
    connection: Connection, actor: Actor, identity_id: str, table: type[AgentRow | BlockRow], id: str
) -> None:
    _check_known(connection, actor, table, [id])
    get_identity(connection, actor, identity_id)


def _check_known(
    connection: Connection, actor: Actor, table: type[AgentRow | BlockRow], ids: Sequence[str]
) -> None:
    mine = (table.organization_id == actor.organization_id, table.is_deleted.is_(False))
    known = set(connection.scalars(select(table.id).where(*mine, table.id.in_(ids)))) if ids else set[str]()
    for id in ids:
        if id not in known:
            raise NotFound(f"There is no {id.split('-')[0]} {id}.")


def _find_by_key(connection: Connection, actor: Actor, key: str, project_id: str | None) -> str | None:
    return connection.scalar(
        select(IdentityRow.id).where(
            *_mine(actor),
            IdentityRow.identifier_key == key,
            IdentityRow.project_id.is_not_distinct_from(project_id),
        )
    )


def _mine(actor: Actor) -> tuple[ColumnElement[bool], ...]:
    return (IdentityRow.organization_id == actor.organization_id, IdentityRow.is_deleted.is_(False))


def _taken(key: str) -> AlreadyExists:
    return AlreadyExists(
        f"There is an identity with the key {key!r} already; change that one, or PUT to do either."
    )


def _dump(properties: Sequence[IdentityProperty]) -> list[dict[str, Any]]:
    return [each.model_dump() for each in properties]


def _identities(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> list[Identity]:
    ids = [row.id for row in rows]
    if not ids:
        return []
    agents: dict[str, list[str]] = {id: [] for id in ids}
    blocks: dict[str, list[str]] = {id: [] for id in ids}
    for row in connection.execute(
        select(IdentitiesAgentsRow.identity_id, IdentitiesAgentsRow.agent_id)
        .join(AgentRow, AgentRow.id == IdentitiesAgentsRow.agent_id)
        .where(IdentitiesAgentsRow.identity_id.in_(ids), AgentRow.is_deleted.is_(False))
        .order_by(AgentRow.created_at, AgentRow.id)
    ):
        agents[row.identity_id].append(row.agent_id)
    for row in connection.execute(
        select(IdentitiesBlocksRow.identity_id, IdentitiesBlocksRow.block_id)
        .join(BlockRow, BlockRow.id == IdentitiesBlocksRow.block_id)
        .where(IdentitiesBlocksRow.identity_id.in_(ids), BlockRow.is_deleted.is_(False))
        .order_by(BlockRow.created_at, BlockRow.id)
    ):
        blocks[row.identity_id].append(row.block_id)
    return [_identity(row, agents[row.id], blocks[row.id]) for row in rows]


def _identity(row: Row[*tuple[Any, ...]], agent_ids: list[str], block_ids: list[str]) -> Identity:
    fields: dict[str, Any] = {column.name: getattr(row, column.name) for column in _COLUMNS}
    fields |= {"agent_ids": agent_ids, "block_ids": block_ids}
    return Identity.model_construct(**fields)
