"""The commit edges at which servers are made to die: the writer's name, and how often it is passed before."""

from random import Random

LIVING = {
    "runs.attempt._start": 12,
    "runs.attempt._record_waiting": 3,
    "runs.checkpoint.Checkpoint._write": 16,
    "runs.checkpoint.Checkpoint._close": 2,
    "runs.repository.events.append_events": 16,
    "runs.repository.runs.cancel_run": 2,
    "runs.withdrawing.withdraw_request": 2,
    "runs.callback._note": 2,
    "runs.repository.leases.renew": 1,
    "runs.conversations.router.fork.write": 2,
    "runs.conversations.router.rewind.write": 2,
    "agents.conversations.service.create_conversation": 2,
    "agents.conversations.service.delete_conversation": 1,
    "schedules.service._start_due": 2,
    "schedules.service._insert": 2,
    "batches.service._insert": 2,
    "batches.service._advance": 4,
    "jobs.repository.claim": 2,
    "jobs.repository.finish": 2,
    "*": 40,
}
"""Passed while clients are served; the number is the most often that a life waits for."""
STARTING = {
    "app._furnish_everyone": 1,
    "runs.repository.taking_over.claim_run": 2,
    "runs.repository.leases.end_dead_run": 3,
    "runs.attempt._start": 2,
    "runs.checkpoint.Checkpoint._write": 3,
    "runs.repository.events.append_events": 4,
    "schedules.service._start_due": 1,
    "batches.service._advance": 2,
    "jobs.repository.release": 1,
}
"""Passed while a new server takes over what the last one left."""


def draw(chance: Random, points: dict[str, int]) -> str:
    """A fail point as the environment would give it."""
    name = chance.choice(list(points))
    hits = min(points[name], chance.choice((1, 1, 2, 3, 5, 10, 40)))
    return f"{name}:{chance.choice(('before', 'after'))}:{hits}"
