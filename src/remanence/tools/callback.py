"""The client that a tool may call this server with: a short-lived token that opens one agent and no more."""

import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from remanence.accounts.agent_token import make_token
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.kit.json import JsonObject

KEY = "LETTA_API_KEY"
BASE_URL = "LETTA_BASE_URL"
_LIFETIME_S = 600


@dataclass(frozen=True, slots=True)
class ToolClients:
    signing_key: bytes
    base_url: str
    is_open_to_all: bool
    """Whether every agent's tools may call back; else those whose variables hold `LETTA_API_KEY`."""

    def for_agent(
        self, actor: Actor, agent: Agent | None, env: MutableMapping[str, str]
    ) -> tuple[JsonObject | None, list[tuple[str, int]]]:
        """The options of the client, and what its sandbox must be granted. The token is put into `env`."""
        if agent is None or not (self.is_open_to_all or KEY in env):
            return None, []
        if env.get(BASE_URL, self.base_url) != self.base_url:  # another server, with the key for it
            return {"base_url": env[BASE_URL], "api_key": env[KEY]}, []
        token = make_token(self.signing_key, actor.user_id, agent.id, int(time.time()) + _LIFETIME_S)
        env.update({KEY: token, BASE_URL: self.base_url})
        parts = urlsplit(self.base_url)
        host = "127.0.0.1" if parts.hostname in (None, "localhost") else parts.hostname
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return {"base_url": self.base_url, "api_key": token}, [(str(host), port)]
