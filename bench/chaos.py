"""Kills servers at bad moments and looks for what was lost: `make chaos`, or `python -m bench.chaos --seconds 600`.

Agents are spoken to without pause, some of them by two clients at once; at a random moment the server is
killed with SIGKILL and started again on the same database. Then every promise is checked: what was
answered is listed, once and in order; no call is without its return; no run is left open; the next
message works at once. The seed is printed, so that a campaign can be repeated as far as chance allows.
"""

import argparse
import asyncio
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from rich.console import Console
from sqlalchemy.engine import make_url
from tests.support.api import Api, Body, assert_takes_turns, assert_well_formed, open_api
from tests.support.databases import PostgresDatabases
from tests.support.scripted_model import Line, ScriptedModel, SeenRequest, calls, says
from tests.support.server_process import ServerProcess

AGENTS = 5
AT_ONCE_S = 10
"""Less than a lease lasts, and enough for a busy machine."""
KINDS = ("sqlite", "postgres")


@dataclass
class Talk:
    """One agent, and what its clients know."""

    agent: str
    sent: int = 0
    answered: list[str] = field(default_factory=list[str])
    """In the order in which the answers came."""
    unanswered: set[str] = field(default_factory=set[str])


class Campaign:
    def __init__(self, kind: str, url: str, folder: Path, seed: int) -> None:
        self._kind = kind
        self._random = random.Random(seed)
        self._model = ScriptedModel.start_in_thread()
        self._model.responder = self._answer
        self._server = ServerProcess(url, folder, model_url=self._model.base_url)
        self._talks: list[Talk] = []
        self.kills = 0
        self.answers = 0
        self.broken: list[str] = []

    async def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        try:
            await asyncio.to_thread(self._server.start)
            async with open_api(self._server.base_url) as api:
                self._talks = [Talk(await api.create_agent()) for _ in range(AGENTS)]
            while time.monotonic() < end and not self.broken:
                await self._live_and_die()
                await self._check()
            if self._server.stop() != 0:
                self.broken.append("the server did not end well when it was told to stop")
            self._check_file()
        finally:
            self._server.kill()
            self._model.stop_thread()

    def _answer(self, request: SeenRequest) -> Line:
        """What is answered depends on what was said, so that each reply can be told from all others."""
        text = request.last_user
        chance = random.Random(f"{text} {len(request.messages)}")
        pause_s = chance.choice((0, 0, 0.002, 0.02, 0.1))
        done = request.roles[::-1].index("user")
        if done < 2 * (hash_of(text) % 3):
            line = calls("memory_insert", label="human", new_string=f"<{text}>")
        else:
            line = says(f"You said {text}")
        return line.slow(first_s=pause_s, token_s=chance.choice((0, 0, 0.001)))

    async def _live_and_die(self) -> None:
        async with open_api(self._server.base_url, timeout_s=30) as api:
            lanes = [
                asyncio.create_task(self._speak(api, talk))
                for number, talk in enumerate(self._talks)
                for _ in range(1 + number % 2)
            ]
            await asyncio.sleep(self._random.choice((0.01, 0.1, 0.3, 1, 2)) * self._random.random())
            self._server.kill()
            self.kills += 1
            for outcome in await asyncio.gather(*lanes, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    self.broken.append(f"a client saw {type(outcome).__name__}: {outcome}")
        await asyncio.to_thread(self._server.start)

    async def _speak(self, api: Api, talk: Talk) -> None:
        while True:
            talk.sent += 1
            text = f"number {talk.sent}"
            try:
                if talk.sent % 4:
                    said = await api.ask(talk.agent, text)
                else:
                    stream = await api.stream(talk.agent, text)
                    said = (
                        f"You said {text}" if stream.endswith("data: [DONE]\n\n") else "a stream without end"
                    )
            except httpx.TransportError:
                talk.unanswered.add(text)
                return
            if said != f"You said {text}":
                self.broken.append(f"{text!r} was answered with {said!r}")
            talk.answered.append(text)
            self.answers += 1

    async def _check(self) -> None:
        async with open_api(self._server.base_url) as api:
            for talk in self._talks:
                try:
                    await self._check_talk(api, talk)
                except (AssertionError, TimeoutError, httpx.TransportError) as error:
                    self.broken.append(f"{talk.agent}: {type(error).__name__} {error}")

    async def _check_talk(self, api: Api, talk: Talk) -> None:
        open_runs = [
            run["id"] for run in await api.runs(talk.agent) if run["status"] in ("created", "running")
        ]
        assert not open_runs, f"{open_runs} are open though their process is dead"
        history = await everything(api, talk.agent)
        assert_well_formed(history)
        pairs = answered_pairs(history)
        users = [each["content"] for each in history if each["message_type"] == "user_message"]
        assert len(users) == len(set(users)), "something was said twice"
        lost = [text for text in talk.answered if pairs.get(text) != f"You said {text}"]
        assert not lost, f"answered but not kept: {lost[:5]}"
        wrong = [text for text, said in pairs.items() if said is not None and said != f"You said {text}"]
        assert not wrong, f"kept with the answer to something else: {wrong[:5]}"
        unknown = set(users) - set(talk.answered) - talk.unanswered
        assert not unknown, f"nobody said {unknown}"
        talk.sent += 1
        text = f"number {talk.sent}"
        async with asyncio.timeout(AT_ONCE_S):
            assert await api.ask(talk.agent, text) == f"You said {text}"
        talk.answered.append(text)
        prompt = next(seen for seen in reversed(self._model.journal) if seen.last_user == text)
        assert_takes_turns(prompt.messages)
        shown = [each["content"] for each in prompt.messages if each["role"] == "user"]
        assert shown == [*users, text], "the prompt holds something else than the history"
        self._model.journal.clear()

    def _check_file(self) -> None:
        if self._kind == "sqlite":
            path = make_url(self._server.database_url).database or ""
            with closing(sqlite3.connect(path)) as connection:
                found = connection.execute("PRAGMA integrity_check").fetchone()[0]
                dangling = connection.execute("PRAGMA foreign_key_check").fetchall()
            if found != "ok" or dangling:
                self.broken.append(f"the file is damaged: {found} {dangling[:3]}")


def hash_of(text: str) -> int:
    return sum(text.encode())


async def everything(api: Api, agent: str) -> list[Body]:
    return await api.history(agent, limit=100_000)


def answered_pairs(history: Sequence[Body]) -> dict[str, str | None]:
    """What was said, and the answer right after it; None where the turn was cut short."""
    pairs: dict[str, str | None] = {}
    open_text: str | None = None
    for message in history:
        match message["message_type"]:
            case "user_message":
                open_text = message["content"]
                pairs[message["content"]] = None
            case "assistant_message" if open_text is not None:
                pairs[open_text] = message["content"]
                open_text = None
            case "assistant_message":
                raise AssertionError(f"{message['content']!r} answers nothing")
            case _:
                pass
    return pairs


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.chaos", description="Kill servers, look for losses."
    )
    parser.add_argument(
        "--seconds", type=float, default=120, help="for all databases together; 120 by default"
    )
    parser.add_argument("--database", choices=KINDS)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    kinds: Sequence[str] = [options.database] if options.database else KINDS
    console = Console(highlight=False)
    console.print(f"seed {options.seed}")
    is_well = True
    for kind in kinds:
        folder = Path(tempfile.mkdtemp(prefix="remanence-chaos-"))
        postgres = PostgresDatabases() if kind == "postgres" else None
        url = postgres.fresh() if postgres is not None else f"sqlite:///{folder / 'chaos.sqlite3'}"
        campaign = Campaign(kind, url, folder, options.seed)
        try:
            with console.status(f"{kind}: killing"):
                asyncio.run(campaign.run(options.seconds / len(kinds)))
        finally:
            if postgres is not None:
                postgres.close()
            shutil.rmtree(folder, ignore_errors=True)
        console.print(
            f"{kind}: {campaign.kills} kills, {campaign.answers} answers, {len(campaign.broken)} broken promises"
        )
        for problem in campaign.broken:
            console.print(f"  {problem}", style="red", markup=False)
        is_well = is_well and not campaign.broken
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
