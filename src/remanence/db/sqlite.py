"""SQLite: reads in a few threads, writes in one, each with a connection it keeps.

The writer takes all that has gathered in its queue and commits it together: the price of a
durable commit (`synchronous=FULL`) is shared by the writes that wait for it.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.pool import QueuePool

from remanence.db.database import Statement
from remanence.kit import failpoints, json

P = ParamSpec("P")
T = TypeVar("T")

READERS = 3
BUSY_TIMEOUT_MS = 30_000
MAX_GROUP = 64
"""Writes committed together at most, so that one slow group does not hold up everyone."""


@dataclass(slots=True)
class _Job:
    run: Callable[[Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    writer: Callable[..., Any] | None
    """What is run, if it writes: it names the two edges of its commit."""


@dataclass(slots=True)
class _Outcome:
    job: _Job
    result: Any = None
    error: BaseException | None = None


def _lower(text: object) -> object:
    return text.lower() if isinstance(text, str) else text


def _make_engine(url: str, *, begin: str, is_reader: bool) -> Engine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=READERS + 1,
        max_overflow=0,
        json_serializer=json.encode_text,
        json_deserializer=json.decode,
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000},
        query_cache_size=1500,
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: object) -> None:
        # Names are searched in any script, and SQLite itself only knows the letters of ASCII.
        connection.create_function("lower", 1, _lower, deterministic=True)
        connection.isolation_level = None  # transactions are opened below, not by the driver
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA cache_size=-16000")
        cursor.execute("PRAGMA temp_store=MEMORY")
        if is_reader:
            cursor.execute("PRAGMA query_only=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def open_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


class SqliteDatabase:
    def __init__(self, url: str) -> None:
        path = make_url(url).database
        if not path or path == ":memory:":
            raise ValueError("SQLite needs a file: several threads read it")
        self._path = path
        self._write_engine = _make_engine(url, begin="BEGIN IMMEDIATE", is_reader=False)
        self._read_engine = _make_engine(url, begin="BEGIN", is_reader=True)
        self._writes: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._reads: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._is_closed = False

    @property
    def is_sqlite(self) -> bool:
        return True

    @property
    def description(self) -> str:
        return f"SQLite {self._path}"

    async def read(self, fn: Statement[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._submit(self._reads, lambda connection: fn(connection, *args, **kwargs), None)

    async def write(self, fn: Statement[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._submit(self._writes, lambda connection: fn(connection, *args, **kwargs), fn)

    async def listen(self, channel: str, on_notice: Callable[[str], None]) -> None:
        """SQLite announces nothing; readers look by themselves."""

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._writes.put(None)
        for _ in range(READERS):
            self._reads.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        self._write_engine.dispose()
        self._read_engine.dispose()

    async def _submit(
        self,
        jobs: "queue.SimpleQueue[_Job | None]",
        run: Callable[[Connection], T],
        writer: Callable[..., T] | None,
    ) -> T:
        if self._is_closed:
            raise RuntimeError("the database is closed")
        if not self._threads:
            self._start_threads()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        jobs.put(_Job(run, loop, future, writer))
        return await future

    def _start_threads(self) -> None:
        targets = [(self._write_loop, "sqlite-writer")]
        targets += [(self._read_loop, f"sqlite-reader-{n}") for n in range(READERS)]
        for target, name in targets:
            thread = threading.Thread(target=target, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _read_loop(self) -> None:
        seat = _Seat(self._read_engine)
        while (job := self._reads.get()) is not None:
            _deliver(_commit_together(seat, [job]))
        seat.close()

    def _write_loop(self) -> None:
        seat = _Seat(self._write_engine)
        is_open = True
        while is_open:
            jobs: list[_Job] = []
            job = self._writes.get()
            while True:
                if job is None:
                    is_open = False
                    break
                jobs.append(job)
                if len(jobs) >= MAX_GROUP:
                    break
                try:
                    job = self._writes.get_nowait()
                except queue.Empty:
                    break
            _deliver(_commit_together(seat, jobs))
        seat.close()


class _Seat:
    """A thread's connection, opened when first needed: if that fails, so does the job, not the thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _commit_together(seat: _Seat, jobs: list[_Job]) -> list[_Outcome]:
    outcomes: list[_Outcome] = []
    try:
        with seat.connection.begin():
            outcomes.extend(_Outcome(job, job.run(seat.connection)) for job in jobs)
            for job in jobs:
                failpoints.reach(job.writer, "before")
    except BaseException as error:
        if len(jobs) == 1:
            return [_Outcome(jobs[0], error=error)]
        # One of them failed, or the commit did: nothing is kept, and each gets its own chance.
        return [outcome for job in jobs for outcome in _commit_together(seat, [job])]
    for job in jobs:
        failpoints.reach(job.writer, "after")
    return outcomes


def _deliver(outcomes: list[_Outcome]) -> None:
    """Hands results to the event loop, all of a group in one wake-up."""

    def settle() -> None:
        for outcome in outcomes:
            if outcome.job.future.done():
                continue  # whoever asked has gone; the commit stands
            if outcome.error is not None:
                outcome.job.future.set_exception(outcome.error)
            else:
                outcome.job.future.set_result(outcome.result)

    if outcomes:
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody is waiting
            outcomes[0].job.loop.call_soon_threadsafe(settle)
