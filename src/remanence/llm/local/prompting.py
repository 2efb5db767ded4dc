"""The whole prompt of the small model, made from a model request.

Order is cost: what all agents share stands first and is evaluated once for all; then the agent's own
tools and memory; then the conversation, which only grows at its end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import get_args

from remanence.core.agent import AgentType
from remanence.core.llm import LLMConfig, ModelRequest, ToolSpec
from remanence.core.message import Message
from remanence.core.profile import default_system, default_tools, profile_of
from remanence.core.prompt import PLACEHOLDER
from remanence.kit.json import JsonObject
from remanence.llm.local.actions import REPLY, Action, Vocabulary, plan_vocabulary
from remanence.llm.local.blocks import MemoryBlock, SystemText, parse_system_text
from remanence.llm.local.schema import plain_schema
from remanence.llm.local.transcript import Style, Turn, clip, estimate_tokens, read_transcript

_TALK = Style(budget_tokens=700, said_tokens=500, is_json=True)
_TEXT = Style(budget_tokens=1500, said_tokens=1400, is_json=False)
_INSTRUCTION_TOKENS = 200
_TEXT_INSTRUCTION_TOKENS = 500
_BLOCK_TOKENS = 120
_MEMORY_TOKENS = 400
_TOOLS_TOKENS = 300
_FILES_TOKENS = 60
_TOOL_WORDS = 14

_ANY_MODEL = LLMConfig(model="any", model_endpoint_type="local", context_window=1)

_LINES = {
    REPLY: '{"reply":"…"}: talk to the user. Ends your turn.',
    "remember": '{"remember":{"label":"human","text":"…"}}: add a new fact to memory.',
    "correct": '{"correct":{"label":"human","old":"…","new":"…"}}: replace a line of memory that is wrong or out of date.',
    "search": '{"search":{"query":"…"}}: look for words in older conversations.',
    "archive": '{"archive":{"text":"…"}}: put a long note into the archive.',
    "look_up": '{"look_up":{"query":"…"}}: find notes in the archive.',
    "rewrite": '{"rewrite":{"label":"human","text":"…"}}: write a memory block anew.',
    "finish": '{"finish":{}}: all memory work is done. Ends your turn.',
}

_OPENING = """\
You are an assistant with a memory. Answer with one JSON object, one action at a time:
"""

_RULES = """\
What the user tells about themselves is saved first and talked about after. Use correct only if memory holds the opposite, else remember. Questions and small talk get a reply at once, from memory and from what was said. Search only for what is in neither. If some other action does what is asked, use it and never make up its result.
"""

_EXAMPLES: Sequence[tuple[str, str]] = (
    (REPLY, 'Hi there! → {"reply":"Hello! What can I do for you?"}'),
    (
        "correct",
        "(memory: Name: Tom, Home: Bonn) I'm Tim, not Tom. → "
        '{"correct":{"label":"human","old":"Name: Tom","new":"Name: Tim"}} then '
        '{"reply":"Sorry, Tim! I will get it right from now on."}',
    ),
    (
        "correct",
        "(memory: Name: Tom, Home: Bonn) I live in Ulm now. → "
        '{"correct":{"label":"human","old":"Home: Bonn","new":"Home: Ulm"}}',
    ),
    (
        "remember",
        '(memory: Name: Tom) I was born in 1990. → {"remember":{"label":"human","text":"Born in 1990."}}',
    ),
    (
        "remember",
        'My cat is called Mia. → {"remember":{"label":"human","text":"Has a cat called Mia."}} then '
        '{"reply":"Mia is a lovely name for a cat! How old is she?"}',
    ),
    (REPLY, 'What is my cat called? → {"reply":"Mia."}'),
    ("search", 'What film did I mention last week? → {"search":{"query":"film"}}'),
    (
        REPLY,
        '(with the action {"flip_coin":{}}) Flip a coin. → {"flip_coin":{}} → Result: heads → {"reply":"It shows heads!"}',
    ),
)


@dataclass(frozen=True, slots=True)
class Prompt:
    prefix: str
    """What other conversations share with this one; `text` begins with it."""
    text: str
    vocabulary: Vocabulary | None
    """None for a plain text answer."""
    schema: JsonObject | None


def compile_prompt(request: ModelRequest) -> Prompt:
    system, talk = _split(request)
    if not request.tools or request.tool_choice == "none":
        return _text_prompt(request, system, talk)
    transcript = read_transcript(talk, system.blocks, _TALK)
    vocabulary = plan_vocabulary(request, transcript.blocks_now, transcript.done)
    prefix = _shared(vocabulary.known)
    own = _own(vocabulary.known, system, transcript.blocks)
    text = prefix + own + _chat(transcript.turns)
    return Prompt(prefix, text, vocabulary, vocabulary.schema())


def warming_prompt() -> Prompt:
    """What an agent with the usual tools would be asked first; evaluated before anyone asks."""
    usual = [
        ToolSpec(name, "", {}) for name in default_tools(profile_of("letta_v1_agent"), has_sleeptime=False)
    ]
    memory = [MemoryBlock("human", "Name: Tom")]
    request = ModelRequest(config=_ANY_MODEL, messages=(), tools=usual)
    vocabulary = plan_vocabulary(request, memory, done=())
    prefix = _shared(vocabulary.known)
    return Prompt(prefix, prefix + _chat([Turn("user", "Hi!")]), vocabulary, vocabulary.schema())


def _shared(known: Sequence[Action]) -> str:
    verbs = [action.verb for action in known if action.verb in _LINES]
    lines = "\n".join(_LINES[verb] for verb in verbs)
    examples = "\n".join(text for verb, text in _EXAMPLES if verb in verbs)
    return f"<|im_start|>system\n{_OPENING}{lines}\n{_RULES}Examples:\n{examples}\n<|im_end|>\n"


def _own(known: Sequence[Action], system: SystemText, blocks: Sequence[MemoryBlock]) -> str:
    parts: list[str] = []
    if own := _without_stock(system.instructions):
        parts.append(clip(own, _INSTRUCTION_TOKENS))
    if tools := _tool_lines([a for a in known if a.verb not in _LINES]):
        parts.append("More actions:\n" + tools)
    if system.files:
        parts.append(clip("Files: " + ", ".join(system.files), _FILES_TOKENS))
    if memory := _memory_lines(blocks):
        parts.append("Memory:\n" + memory)
    return _message("system", "\n".join(parts)) if parts else ""


def _tool_lines(actions: Sequence[Action]) -> str:
    lines: list[str] = []
    left = _TOOLS_TOKENS
    for action in actions:
        line = _tool_line(action)
        left -= estimate_tokens(line)
        if left < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def _tool_line(action: Action) -> str:
    required = (action.value_schema or {}).get("required", [])
    arguments = ",".join(f'"{name}":…' for name in required)
    words = action.tool.description.split() if action.tool else []
    summary = " ".join(words[:_TOOL_WORDS]).split(". ")[0].rstrip(".")
    return f'{{"{action.verb}":{{{arguments}}}}}: {summary}.'


def _memory_lines(blocks: Sequence[MemoryBlock]) -> str:
    return clip(
        "\n".join(f"[{b.label}] {clip(b.value.strip(), _BLOCK_TOKENS)}" for b in blocks), _MEMORY_TOKENS
    )


def _text_prompt(request: ModelRequest, system: SystemText, talk: Sequence[Message]) -> Prompt:
    """No tools: the model is simply asked, in its own chat format."""
    transcript = read_transcript(talk, system.blocks, _TEXT)
    parts = [clip(system.instructions, _TEXT_INSTRUCTION_TOKENS), _memory_lines(transcript.blocks)]
    text = _message("system", "\n\n".join(filter(None, parts))) + _chat(transcript.turns)
    return Prompt("", text, None, _answer_schema(request))


def _answer_schema(request: ModelRequest) -> JsonObject | None:
    wanted = request.response_format
    if wanted is None or wanted.type == "text":
        return None
    return plain_schema(wanted.json_schema or {"type": "object"})


@cache
def _stock_prompts() -> tuple[str, ...]:
    profiles = (profile_of(each) for each in get_args(AgentType))
    return tuple(default_system(each).replace(PLACEHOLDER, "").strip() for each in profiles if each.prompt)


def _without_stock(instructions: str) -> str:
    """The default prompts are written for large models; this one is told the same in short."""
    for stock in _stock_prompts():
        if instructions.startswith(stock):
            return instructions[len(stock) :].strip()
    return instructions


def _split(request: ModelRequest) -> tuple[SystemText, list[Message]]:
    messages = [each.message for each in request.messages]
    if messages and messages[0].role == "system":
        return parse_system_text(messages[0].text), messages[1:]
    return SystemText(""), messages


def _message(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{_disarmed(text)}<|im_end|>\n"


def _chat(turns: Sequence[Turn]) -> str:
    return "".join(_message(turn.role, turn.text) for turn in turns) + "<|im_start|>assistant\n"


def _disarmed(text: str) -> str:
    """Nobody but us may end a message: the markers of the chat format are broken up in what others wrote."""
    return text.replace("<|", "< |")
