"""The engine of the embedded model, seen from the server: ask, and read the answer as it is written.

Loading happens on first use. After a while without requests the worker process ends and gives its
memory back; after a crash the next request starts it again.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import aiohttp

from remanence.core.llm import Usage
from remanence.errors import ModelUnavailable, ProviderError
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.local.process import PROVIDER, Worker, start_worker
from remanence.llm.local.slots import Seat, SlotPool
from remanence.llm.local.states import StateFolder

CONTEXT_TOKENS = 8192
"""Shared by the slots. Prompts stay far below a third of it."""
_SLOTS = 3
_MAX_THREADS = 8
_SILENCE_S = 300
"""A long prompt on a busy machine reports progress far more often than this."""


@dataclass(frozen=True, slots=True)
class Ask:
    prompt: str
    prefix: str = ""
    """The beginning of the prompt that other conversations share."""
    schema: JsonObject | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    key: str = ""
    """The conversation, whose evaluated state is kept."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The last thing an answer yields."""

    usage: Usage
    is_cut: bool
    """The answer ran into its limit of tokens."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    context_tokens: int = CONTEXT_TOKENS
    idle_stop_s: float = 1800
    loop_penalty: float = 0.0
    """Keeps a weak model from running in circles; it then also avoids repeating what it should."""
    threads: int = field(default_factory=lambda: min(_usable_cores(), _MAX_THREADS))


class Engine:
    def __init__(self, model_path: Path, state_dir: Path, options: EngineOptions | None = None) -> None:
        self._model_path = model_path
        self._options = options or EngineOptions()
        self._states = StateFolder(state_dir, _engine_version())
        self._key = secrets.token_urlsafe(24)
        self._pool = SlotPool(_SLOTS)
        self._starting = asyncio.Lock()
        self._evaluating = asyncio.Lock()
        self._worker: Worker | None = None
        self._session: aiohttp.ClientSession | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None

    @property
    def is_loaded(self) -> bool:
        return self._worker is not None and self._worker.is_alive

    @property
    def worker_pid(self) -> int | None:
        return self._worker.process.pid if self._worker is not None else None

    @property
    def is_loading(self) -> bool:
        return self._starting.locked()

    async def load(self) -> None:
        """Does nothing when the model is there. Raises ModelUnavailable."""
        async with self._starting:
            if self.is_loaded:
                return
            await self._stop_worker()
            await asyncio.to_thread(self._states.open)
            self._pool = SlotPool(_SLOTS)
            self._worker = await start_worker(self._order())
            self._session = aiohttp.ClientSession(
                headers={"Authorization": f"Bearer {self._key}"},
                connector=aiohttp.TCPConnector(limit=0, force_close=True),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=_SILENCE_S),
            )
            self._rearm_idle_stop()

    async def close(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        async with self._starting:
            await self._stop_worker()

    async def generate(self, ask: Ask) -> AsyncGenerator[str | Outcome]:
        """The answer in pieces, then its outcome. Closing it early frees the slot. Raises ModelUnavailable."""
        await self.load()
        pool = self._pool
        seat = await pool.take(ask.key)
        left_in_slot: str | None = None
        try:
            if not seat.is_own:
                await self._prepare(seat, ask)
            left_in_slot = ask.key
            async with aclosing(self._stream(seat.slot, ask)) as pieces:
                async for piece in pieces:
                    yield piece
        except (aiohttp.ClientError, OSError) as error:
            left_in_slot = None
            raise await self._failure(error) from error
        finally:
            pool.give_back(seat, left_in_slot)
            self._rearm_idle_stop()

    async def _prepare(self, seat: Seat, ask: Ask) -> None:
        """Puts the best state at hand into a slot that held something else."""
        if seat.evicted:
            await self._save(seat.slot, self._states.talk_name(seat.evicted))
        if ask.key and await self._restore(seat.slot, self._states.talk_name(ask.key)):
            return
        if not ask.prefix:
            return
        name = self._states.prefix_name(ask.prefix)
        async with self._evaluating:  # the second to want a new beginning waits for the first
            if not await self._restore(seat.slot, name):
                body = {"prompt": ask.prefix, "n_predict": 0, "id_slot": seat.slot, "cache_prompt": True}
                await self._post("/completion", body)
                await self._save(seat.slot, name)

    async def _save(self, slot: int, name: str) -> None:
        written = f"{name}-{os.getpid()}.tmp"
        if await self._post(f"/slots/{slot}?action=save", {"filename": written}):
            await asyncio.to_thread(self._states.settle, written, name)

    async def _restore(self, slot: int, name: str) -> bool:
        if not await asyncio.to_thread(self._states.refresh, name):
            return False
        if await self._post(f"/slots/{slot}?action=restore", {"filename": name}):
            return True
        await asyncio.to_thread(self._states.drop, name)
        return False

    async def _post(self, path: str, body: JsonObject) -> bool:
        async with self._request(path, body) as response:
            await response.read()
            return response.status == 200

    async def _stream(self, slot: int, ask: Ask) -> AsyncGenerator[str | Outcome]:
        body: JsonObject = {
            "prompt": ask.prompt,
            "id_slot": slot,
            "cache_prompt": True,
            "n_predict": ask.max_tokens,
            "temperature": ask.temperature,
            "dry_multiplier": self._options.loop_penalty,
            "dry_allowed_length": 8,
            "stream": True,
            "return_progress": True,
        }
        if ask.schema is not None:
            body["json_schema"] = ask.schema
        async with self._request("/completion", body) as response:
            if response.status != 200:
                text = (await response.text())[:400]
                raise ProviderError(f"The embedded model refused the request: {text}", provider=PROVIDER)
            async for line in response.content:
                if not line.startswith(b"data: "):
                    continue
                event: JsonObject = json.decode(line[6:])
                if "error" in event:
                    raise ProviderError(f"The embedded model failed: {event['error']}", provider=PROVIDER)
                if event.get("content"):
                    yield str(event["content"])
                if event.get("stop"):
                    yield _outcome(event)
                    return
        raise aiohttp.ClientPayloadError("the answer ended early")

    def _request(self, path: str, body: JsonObject) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        if self._worker is None or self._session is None:
            raise ModelUnavailable("The embedded model was stopped", provider=PROVIDER)
        return self._session.post(self._worker.address + path, data=json.encode(body))

    async def _failure(self, error: Exception) -> ModelUnavailable:
        if self._worker is not None and await self._worker.has_died():
            return ModelUnavailable(self._worker.obituary(), provider=PROVIDER)
        return ModelUnavailable(f"No answer from the embedded model: {error}", provider=PROVIDER)

    def _order(self) -> JsonObject:
        return {
            "model_path": str(self._model_path),
            "state_dir": str(self._states.folder),
            "context_tokens": self._options.context_tokens,
            "slots": _SLOTS,
            "threads": self._options.threads,
            "key": self._key,
        }

    def _rearm_idle_stop(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        loop = asyncio.get_running_loop()
        self._idle_timer = loop.call_later(self._options.idle_stop_s, self._stop_if_idle)

    def _stop_if_idle(self) -> None:
        if self._pool.is_quiet:
            self._stopping = asyncio.create_task(self.close())
        else:
            self._rearm_idle_stop()

    async def _stop_worker(self) -> None:
        session, self._session = self._session, None
        worker, self._worker = self._worker, None
        if session is not None:
            await session.close()
        if worker is not None:
            with suppress(OSError):
                await worker.stop()


def _outcome(event: JsonObject) -> Outcome:
    timings = event.get("timings", {})
    cached = int(timings.get("cache_n", 0))
    prompt = cached + int(timings.get("prompt_n", 0))
    completion = int(event.get("tokens_predicted", 0))
    usage = Usage(prompt, completion, prompt + completion, cached_input_tokens=cached)
    return Outcome(usage, is_cut=event.get("stop_type") == "limit")


def _engine_version() -> str:
    try:
        return metadata.version("xllamacpp")
    except metadata.PackageNotFoundError:
        return "none"


def _usable_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux can say which of the cores are ours
        return os.cpu_count() or 1
