"""Kills servers at bad moments and looks for what was lost: `make chaos`, or `python -m bench.chaos --cycles 50`.

A cycle is the life of one server: all that the one before left is checked, then clients do as they like, and in
the midst of it the process dies, at a named fail point (the edge of some commit) or at any moment. Agents live for
a few cycles, a season; each season is drawn from the seed and its number alone, so `--seed 7 --season 12` plays
one again, as far as chance allows.
"""

import argparse
import asyncio
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from rich.console import Console
from sqlalchemy.engine import make_url
from tests.support.databases import PostgresDatabases
from tests.support.receiver import Receiver
from tests.support.scripted_model import ScriptedModel

from bench.chaos.checks import Checks
from bench.chaos.line import Dead, Line, open_line
from bench.chaos.people import Person
from bench.chaos.points import LIVING, STARTING, draw
from bench.chaos.records import House, Lane
from bench.chaos.script import answer
from bench.chaos.warm import Life, WarmServers

KINDS = ("sqlite", "postgres")
SEASON = 8
"""Cycles before new agents come: their histories are read whole each time."""
LIFE_S = 0.6
"""How long clients go on at most before the process is killed."""


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
        await asyncio.wait([life.death], timeout=LIFE_S * (1 if point else chance.random()))
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


def run_campaign(kind: str, seed: int, seasons: Sequence[int], cycles: int) -> Campaign:
    folder = Path(tempfile.mkdtemp(prefix="remanence-chaos-"))
    postgres = PostgresDatabases() if kind == "postgres" else None
    url = postgres.fresh() if postgres is not None else f"sqlite:///{folder / 'chaos.sqlite3'}"
    campaign = Campaign(url, folder, seed)
    try:
        asyncio.run(campaign.run(seasons, cycles))
    finally:
        if postgres is not None:
            postgres.close()
        if not campaign.broken:  # what the servers logged may explain the rest
            shutil.rmtree(folder, ignore_errors=True)
        else:
            campaign.broken.append(f"their log is {folder / 'server.log'}")
    return campaign


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.chaos", description="Kill servers, look for losses."
    )
    parser.add_argument("--cycles", type=int, default=500, help="on each database; 500 by default")
    parser.add_argument("--database", choices=KINDS)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--season", type=int, help="play this one alone")
    options = parser.parse_args()
    kinds: Sequence[str] = [options.database] if options.database else KINDS
    seasons: Sequence[int] = range(options.cycles) if options.season is None else [options.season]
    console = Console(highlight=False)
    console.print(f"seed {options.seed}")
    is_well = True
    for kind in kinds:
        began = time.monotonic()
        with console.status(f"{kind}: killing"):
            campaign = run_campaign(kind, options.seed, seasons, options.cycles)
        took_s = time.monotonic() - began
        console.print(
            f"{kind}: {campaign.cycles} cycles in {took_s:.0f} s, {campaign.deaths.total()} deaths, "
            f"{campaign.said} messages; nothing was open for longer than {campaign.longest_s:.1f} s after a start"
        )
        for point, count in sorted(campaign.deaths.items()):
            console.print(f"  {count:4} {point or 'killed at any moment'}", style="dim")
        for problem in campaign.broken:
            console.print(f"  {problem}", style="red", markup=False, soft_wrap=True)
        is_well = is_well and not campaign.broken
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
