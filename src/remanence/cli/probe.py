"""`remanence probe`: asks a running server what a model can do, and prints its findings."""

import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from rich.console import Console
from rich.table import Table

_TIMEOUT_S = 90


_MARKS = {True: "[green]yes[/green]", False: "[red]no[/red]", None: "[yellow]?[/yellow]"}


def probe(server: str, handle: str, password: str | None) -> int:
    """The exit code: 0 if the model is fit for agents."""
    console = Console()
    request = Request(f"{server}/v1/models/{quote(handle)}/probe", method="POST")
    if password:
        request.add_header("Authorization", f"Bearer {password}")
    try:
        with console.status(f"Asking {handle}…"), urlopen(request, timeout=_TIMEOUT_S) as response:
            found: dict[str, Any] = json.load(response)
    except HTTPError as error:
        console.print(f"[red]{error.code}[/red] {error.read().decode(errors='replace')[:500]}")
        return 2
    except (URLError, OSError) as error:
        console.print(f"[red]No server at {server}[/red] ({error}). Start it with `remanence server`.")
        return 2
    table = Table("", "task", "s", "what happened", title=handle)
    for each in found["tasks"]:
        mark = _MARKS[each["passed"]]
        table.add_row(mark, each["task"], f"{each['seconds']:.1f}", each["detail"][:100].replace("\n", " "))
    console.print(table)
    if found["first_token_s"] is not None:
        console.print(
            f"First token after {found['first_token_s']} s, {found['tokens_per_s']} tokens a second."
        )
    console.print(found["suits"].pop("advice"))
    if not found["suits"]["agent_type"]:
        return 1
    console.print("Settings that suit it:", found["suits"])
    return 0
