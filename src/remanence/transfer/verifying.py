"""Looks a whole database over for what should never be, and says what it found."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlalchemy import Connection

from remanence.db.database import Database
from remanence.kit.vault import Vault
from remanence.transfer import repository
from remanence.transfer.repository import Fault

MOST_SHOWN = 200


@dataclass(slots=True)
class Verdict:
    checks: int = 0
    histories: int = 0
    faults: list[Fault] = field(default_factory=list[Fault])
    count: int = 0
    """Of faults; of very many only some are kept."""


async def verify(db: Database, vault: Vault, on_check: Callable[[str], None]) -> Verdict:
    """One snapshot, on which nothing is changed. Servers may run meanwhile."""

    def look(connection: Connection) -> Verdict:
        lanes = repository.list_lanes(connection)
        checks: dict[str, Iterator[Fault]] = {
            "the files of the database": repository.check_soundness(connection),
            "that inputs are on disk": repository.check_acknowledged(connection),
            "that steps are whole": repository.check_steps(connection),
            "that histories are well formed": repository.check_histories(connection, lanes),
            "that messages can be read": repository.check_messages(connection),
            "that each history has one writer": repository.check_leases(connection, lanes),
            "that runs are somebody's": repository.check_runs(connection),
            "that work for later has its end": repository.check_later(connection),
            "that streams have no gaps": repository.check_streams(connection),
            "that organisations are apart": repository.check_confinement(connection),
            "that blocks are within limits": repository.check_memory(connection),
            "that secrets can be read": repository.check_secrets(connection, vault),
        }
        verdict = Verdict(checks=len(checks), histories=len(lanes))
        for name, faults in checks.items():
            on_check(name)
            for fault in faults:
                verdict.count += 1
                if len(verdict.faults) < MOST_SHOWN:
                    verdict.faults.append(fault)
        return verdict

    return await db.read(look)
