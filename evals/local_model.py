"""How well and how fast the embedded model does an agent's work.

Two sets of twenty-one small tasks, each a fresh agent and one or two messages, played through the real adapter with a
miniature of the loop: tools are run here, their returns go back, until the agent has answered.

    python evals/local_model.py standard --dir ~/.remanence
    python evals/local_model.py small --held-out

It is no part of the test suite: it takes minutes, and its score is a measurement, not a promise.
"""

# ruff: noqa: T201 - it prints its figures

import argparse
import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remanence.core.block import Block
from remanence.core.llm import InContext, ModelRequest, TextDelta, ToolCallDelta, ToolSpec
from remanence.core.message import Message, ToolCall, ToolReturn, text_parts
from remanence.core.packing import pack_tool_return
from remanence.core.profile import default_system, profile_of
from remanence.core.prompt import PromptMetadata, compile_system
from remanence.core.reply import ReplyBuilder
from remanence.kit import json
from remanence.kit.clock import utc_now
from remanence.kit.ids import DEFAULT_ORG_ID, AgentId, new_agent_id, new_block_id, new_message_id
from remanence.llm.local.source import LocalModels

STRING = {"type": "string"}
MAX_STEPS = 6


def spec(name: str, description: str, properties: dict[str, Any], *, heartbeat: bool = False) -> ToolSpec:
    required = list(properties)
    if heartbeat:
        properties = {"thinking": STRING, **properties}
        required = ["thinking", *required]
        if name != "send_message":
            properties["request_heartbeat"] = {"type": "boolean"}
            required.append("request_heartbeat")
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": required})


V1 = (
    spec("conversation_search", "Search prior conversation history.", {"query": STRING}),
    spec("memory_insert", "Insert text into a memory block.", {"label": STRING, "new_string": STRING}),
    spec("memory_replace", "Replace text.", {"label": STRING, "old_string": STRING, "new_string": STRING}),
)
MEMGPT = (
    spec("send_message", "Sends a message to the human user.", {"message": STRING}, heartbeat=True),
    spec("conversation_search", "Search prior history.", {"query": STRING}, heartbeat=True),
    spec("core_memory_append", "Append to memory.", {"label": STRING, "content": STRING}, heartbeat=True),
    spec(
        "core_memory_replace",
        "Replace the contents of memory.",
        {"label": STRING, "old_content": STRING, "new_content": STRING},
        heartbeat=True,
    ),
)
DICE = spec("roll_dice", "Roll a die and return the number it shows.", {"sides": {"type": "integer"}})
WEATHER = spec("get_weather", "Tell the current weather in a city.", {"city": STRING})
TIMER = spec("set_timer", "Start a timer.", {"minutes": {"type": "integer"}, "name": STRING})
ORDER = spec("find_order", "Look up the state of an order.", {"order_id": STRING})
SONG = spec("play_song", "Play a song.", {"title": STRING})
MAIL = spec("send_email", "Send an email.", {"to": STRING, "subject": STRING, "body": STRING})

PERSONA = "I am a friendly assistant. I answer briefly."


@dataclass
class Play:
    """An agent in the middle of a task, and all that it did."""

    blocks: dict[str, str]
    tools: Sequence[ToolSpec]
    window: list[InContext] = field(default_factory=list[InContext])
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    replies: list[str] = field(default_factory=list[str])
    usages: list[str] = field(default_factory=list[str])
    first_word_s: list[float] = field(default_factory=list[float])

    @property
    def reply(self) -> str:
        return self.replies[-1] if self.replies else ""

    def called(self, name: str) -> dict[str, Any] | None:
        return next((arguments for called, arguments in self.calls if called == name), None)

    @property
    def edits(self) -> int:
        return sum("memory" in name for name, _ in self.calls)


@dataclass(frozen=True)
class Task:
    name: str
    said: tuple[str, ...]
    passed: Callable[[Play], bool]
    human: str = "Name: Chad"
    persona: str = PERSONA
    tools: Sequence[ToolSpec] = V1


def says(*words: str) -> Callable[[Play], bool]:
    return lambda play: any(word.lower() in play.reply.lower() for word in words)


def human(*, has: Sequence[str] = (), lacks: Sequence[str] = ()) -> Callable[[Play], bool]:
    def check(play: Play) -> bool:
        value = play.blocks["human"].lower()
        return (
            all(w.lower() in value for w in has)
            and not any(w.lower() in value for w in lacks)
            and bool(play.reply)
        )

    return check


TASKS = (
    Task("greeting", ("Hello!",), lambda p: bool(p.reply) and not p.calls),
    Task("name corrected", ("My name is not Chad but Sarah.",), human(has=["sarah"], lacks=["chad"])),
    Task("name corrected, heartbeat", ("Actually I'm called Maria, not Anna.",), human(has=["maria"], lacks=["anna"]), human="Name: Anna", tools=MEMGPT),
    Task("fact remembered", ("I love hiking in the mountains.",), human(has=["hik", "chad"])),
    Task("fact remembered, heartbeat", ("My favourite colour is blue.",), human(has=["blue", "chad"]), tools=MEMGPT),
    Task("name known", ("What's my name?",), lambda p: "olivia" in p.reply.lower() and not p.edits, human="Name: Olivia"),
    Task("home known", ("Do you know where I live?",), says("Berlin"), human="Name: Uwe\nLives in Berlin."),
    Task("moved", ("I moved from Paris to Rome.",), human(has=["rome"], lacks=["city: paris"]), human="Name: Leo\nCity: Paris"),
    Task("sum", ("What is two plus three?",), lambda p: any(w in p.reply.lower() for w in ("5", "five")) and not p.calls),
    Task("birthday", ("My birthday is on 4 May.",), human(has=["may"])),
    Task("allergy", ("Please remember that I am allergic to peanuts.",), human(has=["peanut"])),
    Task("search", ("Which restaurant did we talk about last month?",), lambda p: p.called("conversation_search") is not None),
    Task("dice", ("Roll a die with twenty sides.",), lambda p: (p.called("roll_dice") or {}).get("sides") == 20 and "17" in p.reply, tools=(*V1, DICE)),
    Task("weather", ("What's the weather like in Oslo?",), lambda p: "oslo" in str(p.called("get_weather")).lower() and "rain" in p.reply.lower(), tools=(*V1, WEATHER, DICE)),
    Task("timer", ("Set a timer for ten minutes for the pasta.",), lambda p: (p.called("set_timer") or {}).get("minutes") == 10, tools=(*V1, TIMER, WEATHER)),
    Task("poem", ("Write me a short poem about the sea.",), lambda p: len(p.reply) > 60 and not p.edits),
    Task("goodbye", ("Thanks, bye!",), lambda p: bool(p.reply) and not p.calls),
    Task("persona", ("Who are you?",), says("Redbeard"), persona="My name is Redbeard. I am a pirate."),
    Task("two turns", ("My dog is called Rex.", "What's my dog's name?"), says("Rex")),
    Task("new job", ("I no longer work at Acme, I work at Globex now.",), human(has=["globex"], lacks=["works at acme"]), human="Name: Eve\nWorks at Acme."),
    Task("French", ("How do you say 'good morning' in French?",), says("bonjour")),
)  # fmt: skip

# Written after the prompt was settled, and never used to change it.
HELD_OUT = (
    Task("how are you", ("Hey, how are you today?",), lambda p: bool(p.reply) and not p.calls),
    Task("not Bob", ("I'm not Bob, my name is Alice.",), human(has=["alice"], lacks=["bob"]), human="Name: Bob"),
    Task("not Paul, heartbeat", ("You got my name wrong, it's Peter, not Paul.",), human(has=["peter", "chess"], lacks=["paul"]), human="Name: Paul\nLikes chess.", tools=MEMGPT),
    Task("violin", ("I play the violin.",), human(has=["violin", "chad"])),
    Task("sister, heartbeat", ("I have a sister named Clara.",), human(has=["clara", "chad"]), tools=MEMGPT),
    Task("age known", ("How old am I?",), says("34", "thirty-four"), human="Name: Ann\nAge: 34"),
    Task("work known", ("What do I do for a living?",), says("nurse"), human="Name: Sam\nWorks as a nurse."),
    Task("tea now", ("I quit coffee, I only drink tea now.",), human(has=["tea", "max"], lacks=["drinks coffee."]), human="Name: Max\nDrinks coffee."),
    Task("capital", ("What's the capital of Italy?",), lambda p: "rome" in p.reply.lower() and not p.calls),
    Task("baby", ("We just had a baby girl, her name is Lily!",), human(has=["lily", "chad"])),
    Task("meeting", ("Note that my meeting with Dana is on Friday at 3pm.",), human(has=["dana", "friday"])),
    Task("car talk", ("What did I tell you about my car a while ago?",), lambda p: p.called("conversation_search") is not None),
    Task("order", ("Where is my order A-17?",), lambda p: "A-17" in str(p.called("find_order")), tools=(*V1, ORDER, DICE)),
    Task("song", ("Play Yesterday by the Beatles.",), lambda p: "yesterday" in str(p.called("play_song")).lower(), tools=(*V1, SONG, WEATHER)),
    Task("mail", ("Send an email to ann@example.com saying that I'll be late.",), lambda p: (p.called("send_email") or {}).get("to") == "ann@example.com", tools=(*V1, MAIL, SONG)),
    Task("joke", ("Tell me a joke.",), lambda p: len(p.reply) > 20 and not p.edits),
    Task("good night", ("Good night!",), lambda p: bool(p.reply) and not p.calls),
    Task("own name", ("What's your name?",), says("Nova"), persona="My name is Nova. I speak like a robot."),
    Task("red Fiat", ("My car is a red Fiat.", "What colour is my car?"), says("red")),
    Task("address", ("My new address is 12 Elm Street.",), human(has=["elm", "kim"], lacks=["oak"]), human="Name: Kim\nAddress: 5 Oak Road"),
    Task("own name changed", ("From now on, call yourself Max.",), lambda p: "max" in p.blocks["persona"].lower(), persona="My name is Aria. I answer briefly."),
)  # fmt: skip


async def play_task(models: LocalModels, handle: str, task: Task) -> Play:
    play = Play({"persona": task.persona, "human": task.human}, task.tools)
    agent_id = new_agent_id()
    play.window.append(InContext(system_message(agent_id, play)))
    for said in task.said:
        play.window.append(InContext(message(agent_id, role="user", content=text_parts(said))))
        started = time.perf_counter()
        for _ in range(MAX_STEPS):
            if await play_step(models, handle, agent_id, play, started):
                break
    return play


async def play_step(models: LocalModels, handle: str, agent_id: AgentId, play: Play, started: float) -> bool:
    """One answer of the model; true when the turn is over."""
    model = models.find_model(handle.partition("/")[2])
    assert model is not None, "the engine is not installed"
    config = model.llm_config()
    is_heartbeat = any(tool.name == "send_message" for tool in play.tools)
    request = ModelRequest(
        config=config,
        messages=play.window,
        tools=play.tools,
        tool_choice="required" if is_heartbeat else "auto",
        cache_key=agent_id,
    )
    builder = ReplyBuilder()
    has_spoken = False
    async for deltas in models.adapter(config).stream(request):
        if not has_spoken and any(is_word(delta) for delta in deltas):
            has_spoken = True
            play.first_word_s.append(time.perf_counter() - started)
        builder.add(deltas)
    reply = builder.build()
    play.usages.append(
        f"{reply.usage.prompt_tokens}({reply.usage.cached_input_tokens})+{reply.usage.completion_tokens}"
    )
    text = "".join(part.text for part in reply.content if part.type == "text")
    play.window.append(
        InContext(
            message(
                agent_id, role="assistant", content=text_parts(text) if text else (), tool_calls=reply.calls
            )
        )
    )
    if text:
        play.replies.append(text)
    for call in reply.calls:
        returned = run_tool(play, call)
        play.window.append(InContext(message(agent_id, role="tool", tool_returns=(returned,))))
    return not reply.calls or reply.calls[-1].name == "send_message"


def is_word(delta: object) -> bool:
    return isinstance(delta, TextDelta) or (isinstance(delta, ToolCallDelta) and delta.name == "send_message")


def run_tool(play: Play, call: ToolCall) -> ToolReturn:
    arguments: dict[str, Any] = json.decode(call.arguments)
    play.calls.append((call.name, arguments))
    status = "success"
    label = arguments.get("label", "")
    match call.name:
        case "send_message":
            play.calls.pop()
            play.replies.append(arguments["message"])
            result = "Sent."
        case "memory_insert" | "core_memory_append":
            play.blocks[label] += "\n" + (arguments.get("new_string") or arguments.get("content") or "")
            result = play.blocks[label]
        case "memory_replace" | "core_memory_replace":
            old = arguments.get("old_string") or arguments.get("old_content") or ""
            new = arguments.get("new_string") or arguments.get("new_content") or ""
            if old and old in play.blocks[label]:
                play.blocks[label] = result = play.blocks[label].replace(old, new)
            else:
                status, result = "error", "The old text is not in the block"
        case "roll_dice":
            result = "17"
        case "get_weather":
            result = "Rain, 8 degrees"
        case "conversation_search":
            result = "No results"
        case _:
            result = "OK"
    packed = pack_tool_return(result, status=status, at=utc_now(), timezone=None)
    return ToolReturn(tool_call_id=call.id, name=call.name, status=status, content=packed)


def system_message(agent_id: AgentId, play: Play) -> Message:
    profile = profile_of("letta_v1_agent")
    text = compile_system(
        system=default_system(profile),
        profile=profile,
        blocks=[
            Block(
                id=new_block_id(),
                organization_id=DEFAULT_ORG_ID,
                label=label,
                value=value,
                description=f"About {label}",
            )
            for label, value in play.blocks.items()
        ],
        rules=(),
        metadata=PromptMetadata(
            agent_id=agent_id, conversation_id=None, compiled_at=utc_now(), timezone=None, recall_count=0
        ),
        line_numbers=True,
    )
    return message(agent_id, role="system", content=text_parts(text))


def message(agent_id: AgentId, **fields: Any) -> Message:
    return Message(id=new_message_id(), agent_id=agent_id, created_at=utc_now(), **fields)


CHAT = ("Hello!", "What can you do for me?", "Tell me something about cats.", "And about dogs?", "Thanks!")


async def measure_speed(models: LocalModels, handle: str) -> None:
    """Fresh agents with the default memory and tools: seconds until the first word of each answer."""
    for _ in range(3):
        play = await play_task(models, handle, Task("chat", CHAT, lambda play: True))
        print(
            "first words after",
            " ".join(f"{each:.2f}" for each in play.first_word_s),
            "s; tokens",
            *play.usages,
        )


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=["standard", "small"])
    parser.add_argument("--dir", type=Path, default=Path("~/.remanence"), help="the data folder")
    parser.add_argument("--held-out", action="store_true", help="the tasks that the prompt was not made with")
    parser.add_argument("--speed", action="store_true", help="only the time to the first words")
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    options = parser.parse_args()
    models = LocalModels(options.dir.expanduser() / "models", which=options.model)
    handle = models.default_handle
    started = time.perf_counter()
    await models.prepare(handle)
    print(f"{handle} loaded and warm after {time.perf_counter() - started:.1f} s")
    if options.speed:
        await measure_speed(models, handle)
        await models.close()
        return
    passed = 0
    tasks = [task for task in (HELD_OUT if options.held_out else TASKS) if options.only in task.name]
    for task in tasks:
        began = time.perf_counter()
        try:
            play = await play_task(models, handle, task)
            is_good = task.passed(play)
        except Exception as error:  # a failed task is a measurement too
            print(f"FAIL {task.name}: {error!r}")
            continue
        passed += is_good
        firsts = " ".join(f"{s:.1f}" for s in play.first_word_s)
        print(
            f"{'pass' if is_good else 'FAIL'} {task.name:28} {time.perf_counter() - began:5.1f} s, first words {firsts} s"
        )
        print(f"     tokens: {' '.join(play.usages)}")
        print(f"     {play.calls} → {play.replies} | {play.blocks['human']!r}")
    print(f"{passed} of {len(tasks)} tasks passed")
    await models.close()


if __name__ == "__main__":
    asyncio.run(main())
