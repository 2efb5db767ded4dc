"""What is measured, in the order in which it is shown, with the targets of the design."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    label: str
    unit: str
    target: float | None = None
    better: Literal["less", "more"] = "less"
    places: int = 1


@dataclass(frozen=True, slots=True)
class Figure:
    """One result. `value` is the median where there were many."""

    value: float
    p95: float | None = None
    note: str | None = None

    def meets(self, row: Row) -> bool | None:
        if row.target is None:
            return None
        return self.value <= row.target if row.better == "less" else self.value >= row.target


ROWS: tuple[Row, ...] = (
    Row("start", "start to healthy", "s", 1.5, places=2),
    Row("start_cpu", "CPU from start to healthy", "s", places=2),
    Row("start_first", "first start, with the migration", "s", places=2),
    Row("memory_idle", "memory, idle", "MiB", 110, places=0),
    Row("memory_loaded", "memory, after load", "MiB", 200, places=0),
    Row("create", "create an agent", "ms", 6),
    Row("get", "get an agent", "ms", 2),
    Row("list", "list 50 of 1,000 agents", "ms", 8),
    Row("message_1", "message, 1 step", "ms", 8),
    Row("message_3", "message, 3 steps", "ms", 20),
    Row("cpu_1", "server CPU per 1-step message", "ms", 4, places=2),
    Row("cpu_3", "server CPU per 3-step message", "ms", places=2),
    Row("burst_1", "32 agents at once, 1 step", "messages/s", 250, "more", 0),
    Row("burst_3", "32 agents at once, 3 steps", "messages/s", 100, "more", 0),
    Row("burst_cpu_1", "server CPU per message among 32", "ms", places=2),
    Row("crowd_failed", "100 agents at once: failed", "sends", 0, places=0),
    Row("crowd", "100 agents at once: p95", "ms", 1000, places=0),
    Row("queue", "8 sends at once to one agent: in order", "of 8", 8, "more", 0),
    Row("first_token", "first-token overhead", "ms", 6),
    Row("tokens", "16 streams of 200 tokens", "tokens/s", 15_000, "more", 0),
    Row("token_cpu", "server CPU per streamed token", "µs", 40, places=0),
    Row("resume", "resume a stream behind 200 frames", "ms"),
    Row("drain", "200 background runs of 3 steps at once, to the last", "s", places=2),
    Row("drain_memory", "memory after them", "MiB", places=0),
    Row("event_cpu", "event log: CPU per streamed token", "µs", places=0),
    Row("event_bytes", "event log: stored per streamed token", "bytes", places=0),
    Row("history_10", "message at 10 messages of history", "ms", 8),
    Row("history_500", "message at 500", "ms", 10),
    Row("history_2000", "message at 2,000", "ms", 15),
    Row("history_cold_10", "the same right after a start: 10", "ms"),
    Row("history_cold_500", "right after a start: 500", "ms"),
    Row("history_cold_2000", "right after a start: 2,000", "ms"),
    Row("tool_call", "custom tool call", "ms", 10),
    Row("tool_rate", "custom tool calls, 50 at once", "calls/s", None, "more", 0),
    Row("mcp_call", "call of an MCP tool over stdio", "ms"),
    Row("tool_cold", "first call with one requirement to install", "s", places=2),
    Row("file_txt", "text of 1 MB, until found", "ms"),
    Row("file_pdf", "PDF of 100 pages, until found", "ms"),
    Row("group_round", "round of a group of 3", "ms"),
    Row("helped", "message to an agent with a sleep-time helper", "ms"),
    Row("helped_over", "the same, over one without", "ms", 1),
    Row("search_1k", "conversation search in 1,000", "ms", 4),
    Row("search_10k", "conversation search in 10,000", "ms", 6),
    Row("archival_insert", "archival insert, embedded here", "ms", 4),
    Row("archival_search_1k", "archival search in 1,000", "ms", 4),
    Row("archival_search_10k", "archival search in 10,000", "ms", 6),
    Row("prefix_mean", "reusable prompt prefix, mean", "%", 97, "more"),
    Row("prefix_least", "reusable prompt prefix, least", "%", 90, "more"),
    Row("bytes", "database per stored message", "bytes", 1200, places=0),
    *(
        Row(f"{format}_{what}", f"{format}: CPU per {label}, by the vendor's client", "%", 10)
        for format in ("chat", "responses", "anthropic", "gemini")
        for what, label in (("call", "call"), ("token", "streamed token"))
    ),
)


def by_name(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def in_ms(seconds: Sequence[float]) -> Figure:
    return Figure(median(seconds) * 1000, percentile(seconds, 0.95) * 1000)
