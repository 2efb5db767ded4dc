"""Agent files for tests: made up, sent, and compared."""

import random
import re
from collections.abc import Iterator
from typing import Any

import httpx
from hypothesis import strategies as st
from letta_client import Letta
from tests.support.folders import await_file
from tests.support.histories import histories

from remanence.core.message import Message
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.transfer.message_form import file_body

LLM: JsonObject = {
    "model": "gpt-4o-mini",
    "model_endpoint_type": "openai",
    "model_endpoint": "https://elsewhere.example/v1",
    "context_window": 32_000,
    "handle": "openai/gpt-4o-mini",
    "temperature": 0.4,
    "enable_reasoner": None,
}
SOURCE = 'def {name}(place: str) -> str:\n    """Look there.\n\n    Args:\n        place (str): Where.\n    """\n    return place\n'

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
names = st.from_regex(r"[a-z][a-z0-9_]{2,20}", fullmatch=True)


def simple_file(**agent: Any) -> JsonObject:
    """One agent and nothing else."""
    return {
        "agents": [{"id": "agent-0", "name": "lee", "llm_config": LLM, "include_base_tools": False} | agent]
    }


def shown(messages: list[Message]) -> list[JsonObject]:
    """Messages as a file has them."""
    ids = {message.id: message.id for message in messages} | {"agent-1": "agent-0"}
    text = json.encode_text([file_body(message, ids) for message in messages])
    return json.decode(re.sub(r"(plum ){40,}", "plum " * 40, text))  # of long ones the beginning will do


def bring(http: httpx.Client | Letta, file: JsonObject | bytes, **form: Any) -> httpx.Response:
    content = file if isinstance(file, bytes) else json.encode(file)
    assert isinstance(http, httpx.Client)
    return http.post("/v1/agents/import", files={"file": ("a.af", content)}, data=form)


def brought(http: httpx.Client, file: JsonObject | bytes, **form: Any) -> list[str]:
    """The ids of agents from a file that must be good."""
    answer = bring(http, file, **form)
    assert answer.status_code == 200, answer.text[:1000]
    return answer.json()["agent_ids"]


def taken(http: httpx.Client, agent_id: str, **query: Any) -> JsonObject:
    answer = http.get(f"/v1/agents/{agent_id}/export", params=query)
    assert answer.status_code == 200, answer.text[:1000]
    return answer.json()


def comparable(file: JsonObject) -> JsonObject:
    """A file without what every agent has of its own: when it was written, its id in its prompt, and the
    names of folders, which differ where another of that name is there."""
    text = json.encode_text(file | {"created_at": None})
    text = re.sub(r"(agent|conv)-[0-9a-f]{8}-[0-9a-f-]{27}", r"\1", text)
    bare = json.decode(text)
    for history in (*bare["agents"], *bare["remanence"]["conversations"]):
        for message in history["messages"]:
            if message["role"] == "system":
                message |= {"content": [], "created_at": None, "id": None}
    links = [link for agent in bare["agents"] for link in agent["files_agents"]]
    for named in (*bare["sources"], *bare["files"], *links):
        for key in {"name", "file_name"} & named.keys():
            named[key] = re.sub(r"(_[0-9a-f]{8})+(/|$)", r"\2", named[key])
    return bare


def on_shelves(file: JsonObject) -> list[tuple[str, str, bool]]:
    """The files of the one agent: their names, their texts, and whether they are open."""
    is_open = {link["file_id"]: link["is_open"] for link in file["agents"][0]["files_agents"]}
    return sorted(
        (each["original_file_name"], each["content"], is_open[each["id"]]) for each in file["files"]
    )


def await_files(sdk: Letta, agent_id: str) -> None:
    """Until all files of an agent have been read."""
    for folder in sdk.agents.folders.list(agent_id):
        for file in sdk.folders.files.list(folder.id):
            await_file(sdk, folder.id, file.id)


_ODD: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        2**31,
        2**63,
        1.5,
        "",
        "x",
        "agent-0",
        "message-0",
        "x" * 5000,
        "a/b",
        [],
        {},
        [None],
    ),
    *([{}], {"type": "text"}, "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", {"k": {"k": 1}}),
]


def changed(file: JsonObject, dice: random.Random) -> JsonObject:
    """The file with something odd in some place of it, or something lacking, or twice there."""
    copy = json.decode(json.encode(file))
    for _ in range(dice.choice([1, 1, 2])):
        places = list(_places(copy))
        holder, key = dice.choice(places)
        match dice.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(key, int):
                holder.append(holder[key])
            case _:
                holder[key] = dice.choice(_ODD)
    return copy


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys: Any = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    for key in keys:
        yield value, key
        yield from _places(value[key])


@st.composite
def agent_files(draw: st.DrawFn) -> JsonObject:
    """Files as somebody might write them, each of which can be read."""
    labels = draw(st.lists(names, max_size=3, unique=True))
    tools = draw(st.lists(names, max_size=2, unique=True))
    said = shown(draw(histories()))
    in_context = [each["id"] for each in said]
    cut = draw(st.integers(0, len(in_context)))
    blocks = [
        {"id": f"block-{place}", "label": label, "value": draw(texts), "limit": draw(st.integers(100, 9000)),
         "read_only": draw(st.booleans()), "metadata": {"k": draw(texts)}, "tags": draw(st.lists(names, max_size=2))}
        for place, label in enumerate(labels)
    ]  # fmt: skip
    made = [
        {"id": f"tool-{place}", "name": f"x_{name}", "source_code": SOURCE.format(name=f"x_{name}"),
         "json_schema": None, "tags": draw(st.lists(names, max_size=2)), "source_type": "python",
         "default_requires_approval": draw(st.sampled_from([None, True]))}
        for place, name in enumerate(tools)
    ]  # fmt: skip
    agent = {
        "system": draw(texts),
        "description": draw(st.none() | texts),
        "metadata": draw(st.none() | st.dictionaries(names, texts, max_size=2)),
        "tags": draw(st.lists(names, max_size=3)),
        "timezone": draw(st.sampled_from([None, "UTC", "Asia/Tokyo", "America/Los_Angeles"])),
        "agent_type": draw(st.sampled_from(["letta_v1_agent", "memgpt_v2_agent", "memgpt_agent"])),
        "secrets": draw(st.dictionaries(names, texts, max_size=2)),
        "message_buffer_autoclear": draw(st.booleans()),
        "block_ids": [block["id"] for block in blocks],
        "tool_ids": [tool["id"] for tool in made],
        "tool_rules": [{"type": "continue_loop", "tool_name": tool["name"]} for tool in made],
        "messages": said,
        "in_context_message_ids": in_context[cut:],
    }
    passages = [{"text": text, "tags": ["t"]} for text in draw(st.lists(names, max_size=3))]
    archive = {"id": "archive-0", "name": "notes", "agent_ids": ["agent-0"], "passages": passages}
    sources, files, links = draw(folders())
    return simple_file(**agent, source_ids=[each["id"] for each in sources], files_agents=links) | {
        "blocks": blocks,
        "tools": made,
        "sources": sources,
        "files": files,
        "remanence": {"archives": [archive] if passages else []},
    }


@st.composite
def folders(draw: st.DrawFn) -> tuple[list[JsonObject], list[JsonObject], list[JsonObject]]:
    """Folders, their files, and what an agent has open of them."""
    sources = [
        {"id": f"source-{place}", "name": name, "description": draw(st.none() | texts),
         "instructions": draw(st.none() | texts), "metadata": {"k": draw(texts)}}
        for place, name in enumerate(draw(st.lists(names, max_size=2, unique=True)))
    ]  # fmt: skip
    files = [
        {"id": f"file-{place}", "source_id": source["id"], "file_name": f"{source['name']}/{name}.txt",
         "original_file_name": f"{name}.txt", "file_type": "text/plain", "content": draw(texts)}
        for place, (source, name) in enumerate(
            (source, name) for source in sources for name in draw(st.lists(names, max_size=2, unique=True))
        )
    ]  # fmt: skip
    links = [
        {"id": f"file_agent-{file['id']}", "agent_id": "agent-0", "file_id": file["id"],
         "source_id": file["source_id"], "file_name": file["file_name"], "is_open": draw(st.booleans())}
        for file in files
    ]  # fmt: skip
    return sources, files, links
