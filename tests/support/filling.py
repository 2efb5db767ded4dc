"""Agents whose window is small, and the ways to fill it."""

from typing import Any

from tests.support.script import Line, says
from tests.support.talks import Talk

from remanence.kit import json
from remanence.kit.json import JsonObject

WINDOW = 8_000
PLUMS = "plum " * 80
SUMMARY = says("Eve counts plums.")


def small_agent(talk: Talk, **options: Any) -> JsonObject:
    given: JsonObject = {"context_window_limit": WINDOW, **options}
    return talk.agent(**given)


def filled(talk: Talk, turns: int = 4, **options: Any) -> JsonObject:
    """An agent with a history, and a window that is not full yet."""
    agent = small_agent(talk, **options)
    for number in range(turns):
        talk.say(agent, f"Plum number {number}. {PLUMS}", says(f"I see number {number}."))
    return agent


def full(text: str = "Counted.") -> Line:
    """An answer of which the provider says that the window is nearly used up."""
    return says(text).counting(prompt=7_500, completion=10)


def in_context(talk: Talk, agent: JsonObject, **query: Any) -> list[JsonObject]:
    return talk.get(f"/v1/agents/{agent['id']}/context", **query)["messages"]


def roles_in(talk: Talk, agent: JsonObject) -> list[str]:
    return [message["role"] for message in in_context(talk, agent)]


def unpacked(message: JsonObject) -> JsonObject:
    return json.decode(message["content"])
