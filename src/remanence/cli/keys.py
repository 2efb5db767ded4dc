"""Keys on the command line: made, listed and revoked straight in the database, so the first one too."""

from datetime import timedelta

import typer
from rich.console import Console
from rich.table import Table

from remanence.accounts import repository as accounts
from remanence.accounts.keys import repository
from remanence.accounts.keys.service import KeyRing
from remanence.cli.opening import run_on_database
from remanence.core.access import Grant, Role, Scope
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.errors import AppError
from remanence.kit.clock import utc_now
from remanence.kit.ids import UserId
from remanence.kit.vault import Vault
from remanence.settings import Settings


def find_scope(**given: str | None) -> Scope | None:
    """Raises Exit if several were named."""
    named = [(kind, id) for kind, id in given.items() if id]
    if len(named) > 1:
        typer.secho("A key is for one agent, project or organisation: name one of them.", err=True, fg="red")
        raise typer.Exit(2)
    return Scope.model_validate({"type": named[0][0], "id": named[0][1]}) if named else None


def create(
    settings: Settings,
    *,
    name: str,
    role: Role,
    user_id: str,
    scope: Scope | None,
    days: float | None,
    requests_per_minute: int | None,
) -> int:
    async def work(db: Database) -> None:
        grant = await _as_user(db, user_id)
        key, text = await _ring(settings, db).create(
            grant,
            name=name,
            role=role,
            scopes=(scope,) if scope else (),
            expires_at=utc_now() + timedelta(days=days) if days else None,
            requests_per_minute=requests_per_minute,
        )
        made = Grant(actor=grant.actor, role=key.role, scopes=key.scopes)
        typer.secho(f"{key.id} {made.describe()}. This is shown once:", err=True)
        typer.echo(text)

    return run_on_database(settings, work)


def show(settings: Settings, *, user_id: str) -> int:
    async def work(db: Database) -> None:
        organization_id = (await _as_user(db, user_id)).actor.organization_id
        page = Page(limit=None, order="asc")
        table = Table("Id", "Name", "Begins", "User", "Role", "Scope", "Expires", "Last used", box=None)
        for key in await db.read(repository.list_keys, organization_id, page, user_id=None):
            scope = ", ".join(f"{each.type} {each.id}" for each in key.scopes)
            moments = [
                f"{each:%Y-%m-%d %H:%M}" if each else "-" for each in (key.expires_at, key.last_used_at)
            ]
            table.add_row(key.id, key.name, key.hint, key.user_id, key.role, scope or "-", *moments)
        Console(width=None if Console().is_terminal else 240).print(table)

    return run_on_database(settings, work)


def revoke(settings: Settings, key_id: str, *, user_id: str) -> int:
    async def work(db: Database) -> None:
        grant = await _as_user(db, user_id)
        await _ring(settings, db).revoke(grant.actor, key_id, everyones=True)
        typer.echo(f"{key_id} is revoked; running servers refuse it within seconds.")

    return run_on_database(settings, work)


def _ring(settings: Settings, db: Database) -> KeyRing:
    return KeyRing(db, Vault.open(settings.dir).signing_key)


async def _as_user(db: Database, user_id: str) -> Grant:
    await db.write(accounts.ensure_defaults)
    actor = await db.read(accounts.find_actor, UserId(user_id))
    if actor is None:
        raise AppError(f"There is no user {user_id}.")
    return Grant(actor=actor)
