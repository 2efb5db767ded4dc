"""Kills servers at bad moments and looks for what was lost: `make chaos`, or `python -m bench.chaos --cycles 50`.

A cycle is the life of one server: all that the one before left is checked, then clients do as they like, and in
the midst of it the process dies, at a named fail point (the edge of some commit) or at any moment. Agents live for
a few cycles, a season; each season is drawn from the seed and its number alone, so `--seed 7 --season 12` plays
one again, as far as chance allows.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from tests.support.databases import PostgresDatabases

from bench.chaos.campaign import Campaign

KINDS = ("sqlite", "postgres")


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
