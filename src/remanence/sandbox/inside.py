"""What runs inside the fence: a function of a tool, a script, or another program. Standard library only.

The job comes in over the channel as JSON, and so does its outcome go out; nothing is pickled.
"""

import ast
import asyncio
import contextlib
import dataclasses
import inspect
import json
import linecache
import os
import site
import struct
import sys
import traceback
import types
import typing
from collections.abc import Callable
from typing import Any

from remanence.sandbox.convert import convert

_NAME = "tool"
_MAX_FRAME = 64 << 20
_REHEARSALS = 20


class Channel:
    """Frames of JSON, each behind its length."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def receive(self) -> Any:
        (size,) = struct.unpack("!I", self._read(4))
        return json.loads(self._read(size))

    def send(self, value: Any) -> None:
        data = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        if len(data) > _MAX_FRAME:
            raise ValueError(f"the result is larger than {_MAX_FRAME >> 20} MiB")
        data = struct.pack("!I", len(data)) + data
        while data:
            data = data[os.write(self._handle, data) :]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = os.read(self._handle, min(size - len(data), 1 << 20))
            if not more:
                raise EOFError("the server is gone")
            data += more
        return data


def run_job(handle: int, scratch: str) -> int:
    channel = Channel(handle)
    job = channel.receive()
    os.environ.clear()
    os.environ |= {"HOME": scratch, "TMPDIR": scratch, "PATH": job["path"], "LANG": "C.UTF-8", **job["env"]}
    for name, text in job["files"].items():
        with open(os.path.join(scratch, name), "w", encoding="utf-8") as file:  # noqa: PTH118, PTH123
            file.write(text)
    if job["kind"] == "program":
        os.execve(job["argv"][0], job["argv"], dict(os.environ))
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
    sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115
    sys.argv = [_NAME]
    for path in job["paths"]:
        before = list(sys.path)
        site.addsitedir(path)
        sys.path[:] = [each for each in sys.path if each not in before] + before
    sys.path.insert(0, scratch)
    outcome = _run(job, channel)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    channel.send(outcome)
    return 0


def rehearse() -> None:
    """In the zygote: runs a harmless job often enough for the interpreter to have warmed up to the way there.

    Code that is run for the first time is written to, and each page that a fork writes to has to be copied.
    """
    source = "def tool(text: str, number: int | None = None):\n    return {'text': text, 'number': number}\n"
    job = {"kind": "function", "source": source, "name": "tool", "args": {"text": "", "number": 1}}
    for _ in range(_REHEARSALS):
        json.loads(json.dumps(_run(json.loads(json.dumps(job)), Channel(-1)), ensure_ascii=False))
    sys.modules.pop(_NAME, None)
    linecache.cache.clear()


def _run(job: dict[str, Any], channel: Channel) -> dict[str, Any]:
    linecache.cache[f"<{_NAME}>"] = (
        len(job["source"]),
        None,
        job["source"].splitlines(keepends=True),
        f"<{_NAME}>",
    )
    module = types.ModuleType("__main__" if job["kind"] == "script" else _NAME)
    sys.modules[module.__name__] = module
    module.__dict__["client"] = _LazyClient(job["client"]) if job.get("client") else None
    for name in job.get("tools", ()):
        module.__dict__[name] = _remote_tool(name, channel)
    try:
        if job["kind"] == "script":
            return _outcome(_run_script(job["source"], module.__dict__))
        _execute(job["source"], module.__dict__)
        return _outcome(_call(_find_function(module.__dict__, job["name"]), job))
    except SystemExit as leaving:
        return {"error": f"it called exit({leaving.code!r}) instead of returning", "traceback": ""}
    except BaseException as error:
        return {"error": _told(error), "traceback": _traceback(error)}


def _execute(source: str, names: dict[str, Any]) -> None:
    code = compile(source, f"<{_NAME}>", "exec")
    exec(code, names)  # noqa: S102 - to run this is what the process exists for, behind its fence


def _run_script(source: str, names: dict[str, Any]) -> Any:
    """As in a notebook: the value of a last line that is an expression is the result."""
    tree = ast.parse(source, f"<{_NAME}>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"<{_NAME}>", "exec"), names)  # noqa: S102 - as above
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    value = eval(compile(ast.Expression(last.value), f"<{_NAME}>", "eval"), names)  # noqa: S307 - as above
    return asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value


def _find_function(names: dict[str, Any], wanted: str) -> Callable[..., Any]:
    if callable(names.get(wanted)):
        return names[wanted]
    functions = [each for each in names.values() if inspect.isfunction(each) and each.__module__ == _NAME]
    if not functions:
        raise LookupError(f"the source defines no function {wanted}")
    return functions[-1]


def _call(function: Callable[..., Any], job: dict[str, Any]) -> Any:
    parameters = inspect.signature(function).parameters
    try:
        hints = typing.get_type_hints(function, include_extras=False)
    except Exception:  # a name that is only there for type checkers
        hints = {}
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if name == "agent_state":
            value: Any = as_object(job.get("agent_state"))
        elif name in job["args"]:
            value = convert(job["args"][name], hints.get(name), name)
        elif parameter.default is not parameter.empty or parameter.kind in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            if parameter.kind is parameter.VAR_KEYWORD:
                named |= {key: each for key, each in job["args"].items() if key not in parameters}
            continue
        else:
            value = None  # an optional parameter without a default
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(value)
        else:
            named[name] = value
    result = function(*positional, **named)
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


async def _awaited(value: Any) -> Any:
    return await value


def _outcome(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"text": value, "value": value}
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
        return {"text": text, "value": json.loads(text)}
    except (TypeError, ValueError, RecursionError):
        return {"text": str(value), "value": str(value)}


def _plain(value: Any) -> Any:
    """What JSON has no word for, as something it has."""
    for name in ("model_dump", "_asdict", "isoformat", "tolist"):
        method = getattr(value, name, None)
        if callable(method):
            return method(mode="json") if name == "model_dump" else method()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, set | frozenset | types.GeneratorType):
        return list(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - of anything
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return getattr(value, "value", None) if hasattr(value, "value") else str(value)


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()


def _traceback(error: BaseException) -> str:
    """From the tool's own lines on."""
    found = traceback.TracebackException.from_exception(error)
    found.stack = traceback.StackSummary.from_list(
        [frame for frame in found.stack if not frame.filename.startswith(os.path.dirname(__file__))]  # noqa: PTH120
    )
    return "".join(found.format())


class _Open(dict[str, Any]):
    """A JSON object whose members can also be read as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def as_object(value: Any) -> Any:
    if isinstance(value, dict):
        return _Open({key: as_object(each) for key, each in typing.cast(dict[str, Any], value).items()})
    if isinstance(value, list):
        return [as_object(each) for each in typing.cast(list[Any], value)]
    return value


class _LazyClient:
    """The published SDK, which takes long to load, once it is used."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            import letta_client

            self._made = letta_client.Letta(**self._options)
        return getattr(self._made, name)


def _remote_tool(name: str, channel: Channel) -> Callable[..., Any]:
    def call(*positional: Any, **named: Any) -> Any:
        if positional:
            raise TypeError(f"{name}() takes its arguments by name")
        channel.send({"call": name, "args": json.loads(json.dumps(named, default=_plain))})
        answer = channel.receive()
        if not answer["ok"]:
            raise RuntimeError(answer["text"])
        return answer["text"]

    call.__name__ = name
    return call
