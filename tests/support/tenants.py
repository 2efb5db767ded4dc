"""One server for many tests: each gets an organisation of its own, so that its lists hold only what it made."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx
from letta_client import Letta
from sqlalchemy import Connection
from tests.support.server import RunningServer

from remanence.accounts.repository import create_organization, create_user
from remanence.core.actor import Actor
from remanence.db.database import open_database

P = ParamSpec("P")
T = TypeVar("T")

PLAIN_CLIENT = "curl/8.5.0"
"""A User-Agent that is no SDK: such clients get the older habits of the API."""


class Tenant:
    """A user of an organisation that nobody else uses, with both kinds of client."""

    def __init__(self, house: "SharedHouse", actor: Actor) -> None:
        self.house = house
        self.actor = actor
        self.sdk = house.sdk(user_id=actor.user_id)
        self.http = house.plain(user_id=actor.user_id)

    def close(self) -> None:
        self.http.close()
        self.sdk.close()

    def elsewhere(self) -> httpx.Client:
        """This user at the other server of the house; to be closed."""
        return self.house.plain(self.house.replica.base_url, user_id=self.actor.user_id)

    def agent(self, **given: Any) -> dict[str, Any]:
        """A new agent as the plain client sees it: with all its relations."""
        response = self.http.post("/v1/agents/", json={"model": "openai/gpt-4o-mini"} | given)
        assert response.status_code == 200, response.text[:500]
        return response.json()

    def block(self, label: str, value: str = "", **given: Any) -> dict[str, Any]:
        response = self.http.post("/v1/blocks/", json={"label": label, "value": value} | given)
        assert response.status_code == 200, response.text[:500]
        return response.json()

    def state(self, agent_id: str) -> dict[str, Any]:
        response = self.http.get(f"/v1/agents/{agent_id}")
        assert response.status_code == 200, response.text[:500]
        return response.json()

    def system_text(self, agent_id: str) -> str:
        """The text of the agent's system message as it is stored."""
        messages = self.http.get(f"/v1/agents/{agent_id}/messages").json()
        return next(each["content"] for each in messages if each["message_type"] == "system_message")

    def tool_id(self, name: str) -> str:
        return self.http.get("/v1/tools/", params={"name": name}).json()[0]["id"]


class SharedHouse:
    """A running server, and its database beside it for what no request can show."""

    def __init__(self, database_url: str, folder: Path, **settings: Any) -> None:
        self.server = RunningServer(database_url, folder, **settings)
        self._settings = settings
        self._replica: RunningServer | None = None
        self.folder = folder
        self._loop = asyncio.Runner()
        # In a thread of its own, since a test with a browser has a loop running in the main one.
        self._thread = ThreadPoolExecutor(1)
        self._db = open_database(database_url)

    def __enter__(self) -> Self:
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._await(self._db.close())
        self._thread.submit(self._loop.close).result()
        self._thread.shutdown()
        if self._replica is not None:
            self._replica.stop()
        self.server.stop()

    @property
    def replica(self) -> RunningServer:
        """A second server on the same database, started when it is first asked for."""
        if self._replica is None:
            self._replica = RunningServer(self.server.database_url, self.folder, **self._settings).start()
        return self._replica

    def read(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a function on the database that the server uses."""
        return self._await(self._db.read(fn, *args, **kwargs))

    def write(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._await(self._db.write(fn, *args, **kwargs))

    def _await(self, work: Coroutine[None, None, T]) -> T:
        return self._thread.submit(self._loop.run, work).result()

    def new_tenant(self) -> Tenant:
        return Tenant(self, self.write(_add_newcomer))

    def sdk(self, http_client: httpx.Client | None = None, **headers: str) -> Letta:
        # Without a certificate store of its own a client is made in no time.
        return Letta(
            base_url=self.server.base_url,
            api_key="none",
            max_retries=0,
            default_headers=headers,
            http_client=http_client or httpx.Client(verify=False),
        )

    def plain(self, base_url: str | None = None, **headers: str) -> httpx.Client:
        return httpx.Client(
            base_url=base_url or self.server.base_url,
            headers={"user-agent": PLAIN_CLIENT} | headers,
            timeout=20,
            verify=False,
        )


def _add_newcomer(connection: Connection) -> Actor:
    organization_id = create_organization(connection, "newcomers")
    return Actor(
        user_id=create_user(connection, "newcomer", organization_id), organization_id=organization_id
    )
