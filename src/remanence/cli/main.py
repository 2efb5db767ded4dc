"""The command line: `remanence server`, `migrate`, `reindex`, `backup`, `restore`, `verify`, `keys`, `audit`, `probe`, `version`.

Commands import what they need when they run, so that the light ones answer at once.
"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from remanence.kit.ids import DEFAULT_USER_ID

if TYPE_CHECKING:
    from remanence.settings import Settings

main = typer.Typer(
    name="remanence",
    help="A light, durable server for stateful AI agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class RoleName(StrEnum):
    read_only = "read_only"
    user = "user"
    admin = "admin"


Database = Annotated[
    str | None, typer.Option(help="A SQLite file or postgresql://…; REMANENCE_DATABASE_URL by default.")
]


@main.command()
def server(
    host: Annotated[str | None, typer.Option(help="Address to listen on; 127.0.0.1 by default.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 8283 by default.")] = None,
    database: Database = None,
    reload: Annotated[bool, typer.Option("--reload", help="Restart when the source changes.")] = False,
) -> None:
    """Serve the API until told to stop."""
    import gc

    gc.disable()  # nothing made while starting is garbage; the server switches it on again
    settings = _settings(host=host, port=port, database_url=database)
    if settings.is_open_to_others:
        typer.secho(
            f"Whoever reaches {settings.host} could do everything here. Set REMANENCE_PASSWORD, or "
            "REMANENCE_SECURE=true to have a password made, or listen on 127.0.0.1. If it is meant to be open, "
            "say so with REMANENCE_ALLOW_OPEN=true.",
            err=True,
            fg="red",
        )
        raise typer.Exit(2)

    from remanence.cli.server import serve, serve_reloading

    raise SystemExit(serve_reloading(settings) if reload else serve(settings))


@main.command()
def migrate(database: Database = None) -> None:
    """Bring the database to the current revision and leave."""
    settings = _settings(database_url=database)

    import asyncio

    from remanence.db.migrate import migrate as migrate_to_newest
    from remanence.kit.logging import set_up_logging

    set_up_logging(settings.log_level, settings.log_format)
    was_behind = asyncio.run(migrate_to_newest(settings.database_url))
    typer.echo("The database was brought up to date." if was_behind else "The database is up to date.")


@main.command()
def reindex(database: Database = None) -> None:
    """Build the search index anew. The server may run meanwhile; vectors follow once it does."""
    settings = _settings(database_url=database)

    from remanence.cli.reindex import reindex as build_anew

    typer.echo(f"{build_anew(settings)} texts are indexed.")


@main.command()
def backup(
    file: Annotated[Path, typer.Argument(help="Where to write it, such as agents.backup.")],
    database: Database = None,
    with_key: Annotated[
        bool, typer.Option("--with-key", help="Put the key of the secrets into the file: keep it safe then.")
    ] = False,
) -> None:
    """Write everything to one file, from either database. The server may run meanwhile."""
    settings = _settings(database_url=database)

    from remanence.cli.moving import back_up

    raise SystemExit(back_up(settings, file, with_key=with_key))


@main.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What `remanence backup` wrote, from either database.")],
    database: Database = None,
) -> None:
    """Fill an empty database from a backup. No server may use it meanwhile."""
    settings = _settings(database_url=database)

    from remanence.cli.moving import restore_from

    raise SystemExit(restore_from(settings, file))


@main.command()
def verify(
    file: Annotated[
        Path | None, typer.Argument(help="A backup; without one the database is looked at.")
    ] = None,
    database: Database = None,
) -> None:
    """Look for what should never be: in the database, or in a backup. Ends with 1 if there is any."""
    settings = _settings(database_url=database)

    from remanence.cli.moving import verify_all

    raise SystemExit(verify_all(settings, file))


moving_in = typer.Typer(help="Bring what another server has.", no_args_is_help=True)
main.add_typer(moving_in, name="import")


@moving_in.command()
def letta(
    source: Annotated[str, typer.Option("--from", help="The former server's database, postgresql://…")],
    database: Database = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, write nothing.")] = False,
    with_keys: Annotated[
        bool, typer.Option("--with-keys", help="Also keys of providers and tokens of MCP servers.")
    ] = False,
) -> None:
    """Bring everything from a database of a Letta server (0.11 to 0.16), under the ids that it has there."""
    settings = _settings(database_url=database)

    from remanence.cli.moving import import_letta

    raise SystemExit(import_letta(settings, source, is_rehearsal=dry_run, takes_keys=with_keys))


keys = typer.Typer(help="Keys that open the server, each for a user.", no_args_is_help=True)
main.add_typer(keys, name="keys")

ForUser = Annotated[str, typer.Option("--user", help="Whose they are; the default user's if none is named.")]


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="What it is for, by which you know it again.")],
    role: Annotated[RoleName, typer.Option(help="What it may do.")] = RoleName.user,
    user: ForUser = DEFAULT_USER_ID,
    agent: Annotated[str | None, typer.Option(help="Good for this agent alone.")] = None,
    project: Annotated[str | None, typer.Option(help="Good for this project alone.")] = None,
    organization: Annotated[
        str | None, typer.Option(help="Good for this organisation alone: an admin of it, and of no other.")
    ] = None,
    days: Annotated[float | None, typer.Option(min=0.0001, help="Expires after so many days.")] = None,
    requests_per_minute: Annotated[int | None, typer.Option(min=1, help="How often it may ask.")] = None,
    database: Database = None,
) -> None:
    """Make a key and print it; it is shown this once."""
    settings = _settings(database_url=database)

    from remanence.cli.keys import create, find_scope

    raise SystemExit(
        create(
            settings,
            name=name,
            role=role.value,
            user_id=user,
            scope=find_scope(agent=agent, project=project, organization=organization),
            days=days,
            requests_per_minute=requests_per_minute,
        )
    )


@keys.command("list")
def list_keys(user: ForUser = DEFAULT_USER_ID, database: Database = None) -> None:
    """Show the keys of a user's organisation."""
    settings = _settings(database_url=database)

    from remanence.cli.keys import show

    raise SystemExit(show(settings, user_id=user))


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(help="Its id, as `remanence keys list` shows it.")],
    user: ForUser = DEFAULT_USER_ID,
    database: Database = None,
) -> None:
    """Have a key open nothing any more."""
    settings = _settings(database_url=database)

    from remanence.cli.keys import revoke

    raise SystemExit(revoke(settings, key_id, user_id=user))


@main.command()
def audit(
    limit: Annotated[int, typer.Option(min=1, help="How many lines, of the newest.")] = 50,
    user: Annotated[str | None, typer.Option(help="What this user did.")] = None,
    key: Annotated[str | None, typer.Option(help="What was done with this key.")] = None,
    object: Annotated[str | None, typer.Option(help="What was done to this, by its id.")] = None,
    database: Database = None,
) -> None:
    """Show who changed what, came in, or was refused."""
    settings = _settings(database_url=database)

    from remanence.cli.audit import show

    raise SystemExit(show(settings, limit=limit, user_id=user, key_id=key, object_id=object))


@main.command()
def probe(
    handle: Annotated[str, typer.Argument(help="The model to examine, like ollama/qwen3:8b.")],
    server: Annotated[str | None, typer.Option(help="Where the server runs; here by default.")] = None,
) -> None:
    """Tell what a model can do: call tools, obey, keep JSON whole. Takes under a minute."""
    settings = _settings()

    from remanence.cli.probe import probe as ask_server

    password = settings.password.get_secret_value() if settings.password else None
    address = server or f"http://{settings.host}:{settings.port}"
    raise SystemExit(ask_server(address.rstrip("/"), handle, password))


@main.command()
def version() -> None:
    """Print the version."""
    from remanence import __version__

    typer.echo(__version__)


def _settings(**given: object) -> "Settings":
    """The environment's settings with the options given on the command line put over them."""
    from pydantic import ValidationError

    from remanence.settings import Settings

    try:
        return Settings.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            name = str(problem["loc"][0])
            message = problem["msg"].removeprefix("Value error, ")
            typer.secho(f"{name}: {message}", err=True, fg="red")
        raise typer.Exit(2) from None
