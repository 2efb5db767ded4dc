"""Telling a client's own server that its run, or its batch, is over."""

import asyncio
import hashlib
import hmac
import logging

import aiohttp
from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.run import Run
from remanence.db.database import Database
from remanence.kit import json
from remanence.kit.addresses import Judge, is_no_metadata
from remanence.kit.clock import utc_now
from remanence.kit.outside import NotFetched, check_address, guarded_connector
from remanence.runs import repository

log = logging.getLogger(__name__)

SIGNATURE_HEADER = "x-remanence-signature"
_TIMEOUT_S = 5
_PAUSES_S = (0.0, 1.0, 5.0)


class Callbacks:
    """`key` signs the body (HMAC-SHA256), so that the receiver knows who is calling."""

    def __init__(self, db: Database, key: bytes, allows: Judge = is_no_metadata) -> None:
        """`allows` judges where callbacks may lead."""
        self._db = db
        self._key = key
        self._allows = allows

    async def send(self, actor: Actor, run_id: str) -> None:
        """Tries a few times, and notes on the run how it went."""
        run = await self._db.read(repository.get_run, actor, run_id)
        if run.callback_url is None:
            return
        body = json.encode(
            {
                "run_id": run.id,
                "status": run.status,
                "completed_at": run.completed_at,
                "metadata": run.metadata,
            }
        )
        status, error = await self.post(run.callback_url, body, about=run.id)
        await self._db.write(_note, run, status, error)

    async def post(self, url: str, body: bytes, *, about: str) -> tuple[int | None, str | None]:
        """The status of the last answer, or what kept it from coming."""
        signature = "sha256=" + hmac.new(self._key, body, hashlib.sha256).hexdigest()
        headers = {"content-type": "application/json", SIGNATURE_HEADER: signature}
        status: int | None = None
        error: str | None = None
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        async with aiohttp.ClientSession(
            timeout=timeout, connector=guarded_connector(self._allows)
        ) as session:
            for pause_s in _PAUSES_S:
                await asyncio.sleep(pause_s)
                try:
                    check_address(url, self._allows)
                    async with session.post(
                        url, data=body, headers=headers, allow_redirects=False
                    ) as response:
                        status, error = response.status, None
                        if response.status < 500 and response.status != 429:
                            break
                except NotFetched as reason:
                    error = str(reason)
                    break
                except (aiohttp.ClientError, TimeoutError, ValueError) as problem:
                    error = str(problem) or type(problem).__name__
        if error is not None or (status is not None and status >= 400):
            log.warning("the callback of %s failed: %s", about, error or f"status {status}")
        return status, error


def _note(connection: Connection, run: Run, status: int | None, error: str | None) -> None:
    repository.note_callback(connection, run.id, sent_at=utc_now(), status=status, error=error)
