"""SQL for templates, their versions and what was made from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from remanence.core.actor import Actor
from remanence.core.page import Page
from remanence.core.template import CURRENT, Template, TemplateVersion
from remanence.db.paging import fetch_page
from remanence.db.tables import AgentRow, TemplateDeploymentRow, TemplateRow, TemplateVersionRow
from remanence.errors import AlreadyExists, NotFound
from remanence.kit import json
from remanence.kit.clock import utc_now
from remanence.kit.ids import AgentId, new_id
from remanence.kit.json import JsonObject

_TEMPLATE = [column for column in TemplateRow.__table__.columns if column.name in Template.model_fields]
_HEAD = [
    column
    for column in TemplateVersionRow.__table__.columns
    if column.name in TemplateVersion.model_fields and column.name != "file"
]


@dataclass(frozen=True, slots=True)
class Made:
    """An agent that was made from a template."""

    agent_id: AgentId
    deployment_id: str
    entity_id: str
    """Which agent of the template it is."""
    memory_variables: Mapping[str, str]


def insert_template(
    connection: Connection,
    actor: Actor,
    name: str,
    project_id: str | None,
    file: JsonObject,
    variables: Sequence[str],
) -> Template:
    """With a first version, and one to work on. Raises AlreadyExists."""
    template_id = new_id("template")
    try:
        with connection.begin_nested():
            connection.execute(
                insert(TemplateRow).values(
                    id=template_id, name=name, project_id=project_id, latest=1, **_audit(actor)
                )
            )
    except IntegrityError:
        raise AlreadyExists(
            f"There is a template named {name!r} already; update that one, or choose another name."
        ) from None
    for number in (CURRENT, 1):
        _insert_version(connection, actor, template_id, number, file, variables, None)
    return get_template(connection, actor, name)


def get_template(connection: Connection, actor: Actor, name: str, *, locks: bool = False) -> Template:
    """Raises NotFound. `locks`: nobody else changes it before the commit."""
    statement = select(*_TEMPLATE).where(_mine(actor), TemplateRow.name == name)
    row = connection.execute(statement.with_for_update() if locks else statement).first()
    if row is None:
        raise NotFound(f"There is no template named {name!r}.")
    return _template(row)


def list_templates(
    connection: Connection, actor: Actor, page: Page, *, name: str | None, project_id: str | None
) -> list[Template]:
    statement = select(*_TEMPLATE).where(_mine(actor))
    if name is not None:
        statement = statement.where(TemplateRow.name == name)
    if project_id is not None:
        statement = statement.where(TemplateRow.project_id == project_id)
    rows = fetch_page(
        connection,
        statement,
        page,
        key=TemplateRow.created_at,
        id_column=TemplateRow.id,
        scope=[_mine(actor)],
    )
    return [_template(row) for row in rows]


def list_saved(connection: Connection, template_ids: Sequence[str]) -> dict[str, list[TemplateVersion]]:
    """The saved versions of each, newest first, without what is in them."""
    rows = connection.execute(
        select(*_HEAD)
        .where(TemplateVersionRow.template_id.in_(template_ids), TemplateVersionRow.number != CURRENT)
        .order_by(TemplateVersionRow.number.desc())
    )
    found: dict[str, list[TemplateVersion]] = {}
    for row in rows:
        found.setdefault(row.template_id, []).append(_version(row, {}))
    return found


def get_version(connection: Connection, template: Template, number: int) -> TemplateVersion:
    """Raises NotFound."""
    row = connection.execute(
        select(*_HEAD, TemplateVersionRow.file).where(
            TemplateVersionRow.template_id == template.id, TemplateVersionRow.number == number
        )
    ).first()
    if row is None:
        raise NotFound(
            f"The template {template.name!r} has no version {number}; its latest is {template.latest}."
        )
    return _version(row, row.file)


def set_current(
    connection: Connection, actor: Actor, template: Template, file: JsonObject, variables: Sequence[str]
) -> None:
    current = TemplateVersionRow.template_id == template.id, TemplateVersionRow.number == CURRENT
    values = {"file": file, "digest": _digest(file), "memory_variables": list(variables), **_touch(actor)}
    connection.execute(update(TemplateVersionRow).where(*current).values(**values))
    connection.execute(update(TemplateRow).where(TemplateRow.id == template.id).values(**_touch(actor)))


def save_current(connection: Connection, actor: Actor, template: Template, message: str | None) -> Template:
    """What is being worked on as the next version. The template must be locked."""
    current = get_version(connection, template, CURRENT)
    number = template.latest + 1
    variables = current.memory_variables
    _insert_version(connection, actor, template.id, number, current.file, variables, message)
    changes = {"latest": number, **_touch(actor)}
    connection.execute(update(TemplateRow).where(TemplateRow.id == template.id).values(**changes))
    return get_template(connection, actor, template.name)


def has_changes(connection: Connection, template: Template) -> bool:
    """Whether what is being worked on is in no saved version."""
    mine = TemplateVersionRow.template_id == template.id
    current = select(TemplateVersionRow.digest).where(mine, TemplateVersionRow.number == CURRENT)
    same = select(TemplateVersionRow.id).where(
        mine, TemplateVersionRow.number != CURRENT, TemplateVersionRow.digest == connection.scalar(current)
    )
    return connection.scalar(same.limit(1)) is None


def delete_template(connection: Connection, actor: Actor, template: Template) -> None:
    """With all versions. The agents that were made from it stay, and are nobody's copies any more."""
    emptied = dict.fromkeys(("template_id", "base_template_id", "deployment_id", "entity_id"))
    made = AgentRow.organization_id == actor.organization_id, AgentRow.base_template_id == template.id
    connection.execute(
        update(AgentRow).where(*made).values(**emptied, state_version=AgentRow.state_version + 1)
    )
    connection.execute(delete(TemplateRow).where(TemplateRow.id == template.id))


def insert_deployment(
    connection: Connection, actor: Actor, template: Template, variables: Mapping[str, str]
) -> str:
    deployment_id = new_id("deployment")
    connection.execute(
        insert(TemplateDeploymentRow).values(
            id=deployment_id, template_id=template.id, memory_variables=dict(variables), **_audit(actor)
        )
    )
    return deployment_id


def list_made(connection: Connection, actor: Actor, template: Template) -> list[Made]:
    rows = connection.execute(
        select(
            AgentRow.id,
            AgentRow.deployment_id,
            AgentRow.entity_id,
            TemplateDeploymentRow.memory_variables,
        )
        .join(TemplateDeploymentRow, TemplateDeploymentRow.id == AgentRow.deployment_id)
        .where(
            AgentRow.organization_id == actor.organization_id,
            AgentRow.is_deleted.is_(False),
            AgentRow.base_template_id == template.id,
        )
        .order_by(AgentRow.deployment_id, AgentRow.entity_id)
    )
    return [
        Made(AgentId(row.id), row.deployment_id or "", row.entity_id or "", row.memory_variables)
        for row in rows
    ]


def _insert_version(
    connection: Connection,
    actor: Actor,
    template_id: str,
    number: int,
    file: JsonObject,
    variables: Sequence[str],
    message: str | None,
) -> None:
    connection.execute(
        insert(TemplateVersionRow).values(
            id=new_id("template"),
            template_id=template_id,
            number=number,
            message=message,
            memory_variables=list(variables),
            digest=_digest(file),
            file=file,
            **_audit(actor),
        )
    )


def _digest(file: JsonObject) -> str:
    return sha256(json.encode(file)).hexdigest()


def _audit(actor: Actor) -> dict[str, Any]:
    return {
        "organization_id": actor.organization_id,
        "created_by_id": actor.user_id,
        "last_updated_by_id": actor.user_id,
    }


def _touch(actor: Actor) -> dict[str, Any]:
    return {"updated_at": utc_now(), "last_updated_by_id": actor.user_id}


def _mine(actor: Actor) -> ColumnElement[bool]:
    return TemplateRow.organization_id == actor.organization_id


def _template(row: Row[*tuple[Any, ...]]) -> Template:
    return Template.model_validate({column.name: getattr(row, column.name) for column in _TEMPLATE})


def _version(row: Row[*tuple[Any, ...]], file: JsonObject) -> TemplateVersion:
    fields: dict[str, Any] = {column.name: getattr(row, column.name) for column in _HEAD}
    fields |= {"memory_variables": tuple(row.memory_variables), "file": file}
    return TemplateVersion.model_construct(**fields)
