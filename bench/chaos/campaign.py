"""One campaign on one database: seasons of agents, lives of servers, and what became of the promises."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from sqlalchemy.engine import make_url
from tests.support.receiver import Receiver
from tests.support.scripted_model import ScriptedModel

from bench.chaos.checks import Checks
from bench.chaos.line import Dead, Line, open_line
from bench.chaos.people import Person
from bench.chaos.points import LIVING, STARTING, draw
from bench.chaos.records import House, Lane
from bench.chaos.script import answer
from bench.chaos.warm import Life, WarmServers

SEASON = 8
"""Cycles before new agents come: their histories are read whole each time."""
LIFE_S = 2.0
"""How long clients go on at most while their server does not come to its fail point; then it is killed."""
SHORT_S = 0.6
"""How long at most where no fail point was drawn: the process dies at any moment before."""


class Campaign:
    def __init__(self, url: str, folder: Path, seed: int) -> None:
        self._url = url
        self._seed = seed
        self._model = ScriptedModel.start_in_thread()
        self._model.responder = answer
        self._servers = WarmServers(url, folder, model_url=self._model.base_url)
        self.cycles = 0
        self.deaths: Counter[str] = Counter()
        """By the fail point; plain kills under the empty name."""
        self.longest_s = 0.0
        self.said = 0
        self.broken: list[str] = []

    async def run(self, seasons: Sequence[int], cycles: int) -> None:
        with Receiver() as receiver:
            try:
                await self._servers.open()
                for season in seasons:
                    if self.broken or self.cycles >= cycles:
                        break
                    await self._season(season, min(SEASON, cycles - self.cycles), receiver)
                self._check_file()
            finally:
                await self._servers.close()
                self._model.stop_thread()

    async def _season(self, season: int, cycles: int, receiver: Receiver) -> None:
        house = House()
        for cycle in range(cycles + 1):
            chance = Random(f"{self._seed} {season} {cycle}")
            if cycle and chance.random() < 0.15:
                await self._die_while_starting(chance)
            life = await self._servers.start()
            try:
                async with open_line(life.base_url) as line:
                    if cycle:
                        waited_s = await Checks(house, line, self._model, receiver).run()
                        self.longest_s = max(self.longest_s, waited_s)
                    else:
                        await _move_in(house, line)
                    if cycle == cycles:  # the last life only checks
                        self.said += house.number
                        return
                    await self._live_and_die(house, life, line, chance, receiver)
                    self.cycles += 1
            except Exception as error:
                self.broken.append(f"season {season}, cycle {cycle}: {type(error).__name__} {error}")
                return
            finally:
                life.kill()
                await life.death

    async def _live_and_die(
        self, house: House, life: Life, line: Line, chance: Random, receiver: Receiver
    ) -> None:
        people = [
            Person(house, lane, line, Random(f"{chance.random()}"), callback_url=receiver.url)
            for lane in house.lanes
        ]
        people += [
            Person(house, lane, line, Random(f"{chance.random()}"), only_speaks=True)
            for lane in house.lanes[:2]
        ]
        point = draw(chance, LIVING) if chance.random() < 0.8 else ""
        if point:
            life.arm(point)
        living = [asyncio.create_task(person.live()) for person in people]
        await asyncio.wait([life.death], timeout=LIFE_S if point else SHORT_S * chance.random())
        name, _, _ = point.rpartition(":")
        self.deaths[name if life.death.done() else ""] += 1
        life.kill()
        await life.death
        for outcome in await asyncio.gather(*living, return_exceptions=True):
            if isinstance(outcome, BaseException) and not isinstance(outcome, Dead):
                raise outcome

    async def _die_while_starting(self, chance: Random) -> None:
        point = draw(chance, STARTING)
        life = await self._servers.start(point)
        await asyncio.wait([life.death], timeout=LIFE_S)
        if life.death.done():
            self.deaths[point.rpartition(":")[0]] += 1
        life.kill()
        await life.death

    def _check_file(self) -> None:
        if self._url.startswith("sqlite"):
            with closing(sqlite3.connect(make_url(self._url).database or "")) as connection:
                found = connection.execute("PRAGMA integrity_check").fetchone()[0]
                dangling = connection.execute("PRAGMA foreign_key_check").fetchall()
            if found != "ok" or dangling:
                self.broken.append(f"the file is damaged: {found} {dangling[:3]}")


async def _move_in(house: House, line: Line) -> None:
    for is_gated in (False, False, True, True):
        rules = [{"type": "requires_approval", "tool_name": "memory_insert"}] if is_gated else []
        body = {
            "model": "openai/gpt-4o-mini",
            "memory_blocks": [{"label": "human", "value": "Name: Eve", "limit": 100_000}],
            "include_base_tool_rules": False,
            "tool_rules": rules,
            "parallel_tool_calls": True,
        }
        agent = (await line.post("/agents/", body))["id"]
        house.lanes.append(Lane(agent, is_gated=is_gated))
    talk = await line.post("/conversations/", {}, agent_id=house.lanes[0].agent)
    house.lanes.append(Lane(house.lanes[0].agent, talk["id"]))
