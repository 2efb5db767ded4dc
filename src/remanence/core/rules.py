"""What may come next in a turn: the nine tool rules, as pure decisions.

Before each step `plan_step` says which tools the model may call; after it `decide_next` says whether
the loop goes on. Both look at the calls of this request alone: rules start afresh with every message.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from remanence.core.agent import StopReason
from remanence.core.conform import as_object, find_faults
from remanence.core.llm import FinishReason
from remanence.core.profile import ReplyStyle
from remanence.core.tool import (
    ChildTools,
    Conditional,
    ContinueLoop,
    ExitLoop,
    MaxCountPerStep,
    ParentTool,
    RequiredBeforeExit,
    RequiresApproval,
    RunFirst,
    Tool,
    ToolRule,
)
from remanence.kit.json import JsonObject


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call that was run in this request, whatever came of it. Refused calls leave no record."""

    name: str
    result: str


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What the model may do in the coming step."""

    allowed: tuple[str, ...]
    must_call: bool
    forced_tool: str | None = None
    """The one tool that can be called, when a call is due and there is just one."""
    prefilled: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Arguments that rules fix, by tool; they override the model's."""


@dataclass(frozen=True, slots=True)
class StepCall:
    """One call the model made in the step just finished."""

    name: str
    succeeded: bool
    was_allowed: bool = True
    requested_heartbeat: bool = False


@dataclass(frozen=True, slots=True)
class Continue:
    reason: str | None = None
    """A notice for the model, to be packed as a heartbeat; none if the history speaks for itself."""


@dataclass(frozen=True, slots=True)
class Stop:
    reason: StopReason


def plan_step(
    rules: Sequence[ToolRule],
    history: Sequence[CallRecord],
    tool_names: Sequence[str],
    *,
    reply: ReplyStyle,
    is_reminded: bool = False,
) -> StepPlan:
    """Narrow the tools down to those that the rules leave open.

    `is_reminded`: the model wanted to end the turn and was told what is still required of it. It
    must then call something, or it could answer with words until the steps run out.
    """
    allowed, is_forced = _open_tools(rules, history, tool_names)
    if not allowed and reply == "native":
        allowed, is_forced = tuple(tool_names), False
    must_call = bool(allowed) and (is_forced or is_reminded or reply == "heartbeat")
    return StepPlan(
        allowed=allowed,
        must_call=must_call,
        forced_tool=allowed[0] if must_call and len(allowed) == 1 else None,
        prefilled=_prefilled(rules, history, allowed),
    )


def decide_next(
    rules: Sequence[ToolRule],
    history: Sequence[CallRecord],
    *,
    reply: ReplyStyle,
    calls: Sequence[StepCall],
    tool_names: Sequence[str],
    is_last_step: bool,
    finish: FinishReason,
) -> Continue | Stop:
    """Whether the loop goes on. `history` holds all calls run in this request, those of this step too."""
    missing = missing_required(rules, history, tool_names)
    if reply == "native":
        verdict = _decide_native(rules, calls, missing, finish)
    else:
        verdict = _decide_heartbeat(rules, calls, missing)
        if isinstance(verdict, Continue) and not _open_tools(rules, history, tool_names)[0]:
            return Stop("tool_rule")  # nothing may be called any more, and here only calls can be made
    return Stop("max_steps") if is_last_step and isinstance(verdict, Continue) else verdict


def missing_required(
    rules: Iterable[ToolRule], history: Iterable[CallRecord], tool_names: Iterable[str]
) -> tuple[str, ...]:
    """Attached tools that must still be called before the turn may end."""
    called = {record.name for record in history}
    attached = set(tool_names)
    names = (rule.tool_name for rule in rules if isinstance(rule, RequiredBeforeExit))
    return tuple(dict.fromkeys(name for name in names if name in attached and name not in called))


def refusal(name: str, plan: StepPlan) -> str:
    """The error return of a call that was not run because the plan did not allow it."""
    if not plan.allowed:
        return f"{name} was not run: no tool may be called now."
    return f"{name} was not run: at this point you may only call {_either(plan.allowed)}."


def needs_approval(rules: Iterable[ToolRule], name: str) -> bool:
    return any(isinstance(rule, RequiresApproval) and rule.tool_name == name for rule in rules)


def allows_parallel(rules: Iterable[ToolRule]) -> bool:
    """Several calls in one step have no order, so any rule about order forbids them."""
    return all(isinstance(rule, RequiresApproval) for rule in rules)


def check_prefill(args: JsonObject, parameters: JsonObject) -> str | None:
    """Why these arguments cannot be given to a tool with these parameters; none if they can.

    Arguments that are not prefilled are the model's to give, so nothing is missing here.
    """
    known = as_object(parameters.get("properties"))
    faults: list[str] = []
    for name, value in args.items():
        if name in known:
            faults += find_faults(value, known[name], at=name, root=parameters)
        elif not parameters.get("additionalProperties"):
            faults.append(f"{name} is not a parameter of the tool")
    return "; ".join(faults) or None


def validate_rules(rules: Iterable[ToolRule], tools_by_name: Mapping[str, Tool]) -> tuple[str, ...]:
    """What can be seen to be wrong before any step runs. Rules about tools not attached wait for them."""
    faults: list[str] = []
    for rule in rules:
        if isinstance(rule, MaxCountPerStep) and rule.max_count_limit < 0:
            faults.append(f"max_count_per_step of {rule.tool_name}: the limit is below zero")
        for name, args in _fixed_arguments(rule):
            tool = tools_by_name.get(name)
            fault = tool and check_prefill(args, as_object(tool.json_schema.get("parameters")))
            if fault:
                faults.append(f"{rule.type} of {rule.tool_name}, arguments for {name}: {fault}")
    return tuple(faults)


def render_rules(rules: Iterable[ToolRule]) -> str | None:
    """The rules as the model reads them, one line per kind or tool; none if there is nothing to say.

    Approval is between the server and a person. What is required before the end is said when it is due.
    """
    rules = tuple(rules)
    lines: list[str] = []
    if names := _names(rules, RunFirst):
        lines.append(f"- Begin every turn by calling {_either(names)}.")
    if names := _names(rules, ContinueLoop):
        lines.append(f"- Your turn goes on after a call of {_either(names)}.")
    if names := _names(rules, ExitLoop):
        lines.append(f"- Your turn ends with a call of {_either(names)}.")
    lines += [line for rule in rules if (line := _render_rule(rule))]
    return "\n".join(dict.fromkeys(lines)) or None


def _open_tools(
    rules: Sequence[ToolRule], history: Sequence[CallRecord], tool_names: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """The tools that every rule lets pass, in the given order, and whether one of them has to be called."""
    attached = set(tool_names)
    if not history:
        first = {rule.tool_name for rule in rules if isinstance(rule, RunFirst)} & attached
        if first:
            # The operator's word on the beginning stands above rules about what follows what.
            return tuple(name for name in tool_names if name in first), True
    last = history[-1] if history else None
    open_names, is_forced = attached, False
    for rule in rules:
        followers = _followers(rule, last)
        if followers is not None:
            open_names, is_forced = open_names & followers, True
        elif isinstance(rule, MaxCountPerStep):
            count = sum(record.name == rule.tool_name for record in history)
            if count >= rule.max_count_limit:
                open_names = open_names - {rule.tool_name}
    open_names = open_names - _waiting_for_parent(rules, last)
    return tuple(name for name in tool_names if name in open_names), is_forced


def _followers(rule: ToolRule, last: CallRecord | None) -> frozenset[str] | None:
    """The only tools that may follow the last call under this rule; None if it has no say."""
    if last is None or rule.tool_name != last.name:
        return None
    match rule:
        case ChildTools(children=children) | ParentTool(children=children):
            return frozenset(children)
        case Conditional():
            child = _branch(rule.child_output_mapping, last.result) or rule.default_child
            if child is not None:
                return frozenset({child})
            return frozenset[str]() if rule.require_output_mapping else None
        case _:
            return None


def _branch(children_by_output: Mapping[str, str], result: str) -> str | None:
    """The child for this result. A truth value may be spelt `True` or `true`: the case only breaks ties."""
    text = result.strip()
    if text in children_by_output:
        return children_by_output[text]
    alike = {child for output, child in children_by_output.items() if output.casefold() == text.casefold()}
    return alike.pop() if len(alike) == 1 else None


def _waiting_for_parent(rules: Iterable[ToolRule], last: CallRecord | None) -> set[str]:
    """Children whose parent was not called last. A child of several parents may follow any of them."""
    waiting: set[str] = set()
    ready: set[str] = set()
    for rule in rules:
        if isinstance(rule, ParentTool):
            is_after_parent = last is not None and last.name == rule.tool_name
            (ready if is_after_parent else waiting).update(rule.children)
    return waiting - ready


def _prefilled(
    rules: Iterable[ToolRule], history: Sequence[CallRecord], allowed: Sequence[str]
) -> dict[str, JsonObject]:
    prefilled: dict[str, JsonObject] = {}
    for rule in rules:
        is_due = (not history) if isinstance(rule, RunFirst) else _follows(rule, history)
        if not is_due:
            continue
        for name, args in _fixed_arguments(rule):
            if name in allowed:
                prefilled[name] = prefilled.get(name, {}) | args
    return prefilled


def _follows(rule: ToolRule, history: Sequence[CallRecord]) -> bool:
    return bool(history) and history[-1].name == rule.tool_name


def _fixed_arguments(rule: ToolRule) -> tuple[tuple[str, JsonObject], ...]:
    match rule:
        case RunFirst(args=args) if args:
            return ((rule.tool_name, args),)
        case ChildTools(child_arg_nodes=nodes) if nodes:
            return tuple((node.name, node.args) for node in nodes if node.args)
        case _:
            return ()


def _decide_native(
    rules: Sequence[ToolRule], calls: Sequence[StepCall], missing: Sequence[str], finish: FinishReason
) -> Continue | Stop:
    wants_to_end = not calls or _has_exited(rules, calls)
    if not wants_to_end:
        return Continue()
    if missing:
        return Continue(_owed(missing))
    if calls:
        return Stop("tool_rule")
    return Stop("max_tokens_exceeded" if finish == "length" else "end_turn")


def _decide_heartbeat(
    rules: Sequence[ToolRule], calls: Sequence[StepCall], missing: Sequence[str]
) -> Continue | Stop:
    if not calls:
        return Stop("no_tool_call")
    if _has_exited(rules, calls) and not missing:
        return Stop("tool_rule" if any(call.requested_heartbeat for call in calls) else "end_turn")
    for call in calls:
        if not call.was_allowed:
            return Continue(f"{call.name} was not run. Its result says what you may call now.")
        if not call.succeeded:
            return Continue(
                f"{call.name} failed. Read the error in its result, then call it properly or go on without it."
            )
    if missing:
        return Continue(_owed(missing))
    for call in calls:
        if call.requested_heartbeat:
            return Continue(f"You asked to go on after {call.name}.")
        if any(isinstance(rule, ContinueLoop | ChildTools | Conditional) for rule in _of(rules, call.name)):
            return Continue(f"Your turn goes on after {call.name}.")
    return Stop("end_turn")


def _has_exited(rules: Sequence[ToolRule], calls: Sequence[StepCall]) -> bool:
    """A call that ends the turn and did its work: one that failed is the model's to mend."""
    return any(
        call.was_allowed
        and call.succeeded
        and any(isinstance(rule, ExitLoop) for rule in _of(rules, call.name))
        for call in calls
    )


def _owed(missing: Sequence[str]) -> str:
    verb = "call this tool" if len(missing) == 1 else "call each of these tools"
    return f"Your turn cannot end yet. First {verb}: {', '.join(missing)}."


def _of(rules: Iterable[ToolRule], name: str) -> list[ToolRule]:
    return [rule for rule in rules if rule.tool_name == name]


def _names(rules: Iterable[ToolRule], kind: type[RunFirst | ContinueLoop | ExitLoop]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule.tool_name for rule in rules if isinstance(rule, kind)))


def _render_rule(rule: ToolRule) -> str | None:
    match rule:
        case ChildTools(tool_name=name, children=children):
            return f"- After {name}, call {_either(children)} next." if children else None
        case ParentTool(tool_name=name, children=children):
            return f"- Call {_either(children)} only right after {name}." if children else None
        case Conditional(tool_name=name):
            return _render_conditional(name, rule)
        case MaxCountPerStep(tool_name=name, max_count_limit=limit):
            return f"- Call {name} at most {_times(limit)} in a turn."
        case _:
            return None


def _render_conditional(name: str, rule: Conditional) -> str:
    branches = [f'{child} if it returned "{output}"' for output, child in rule.child_output_mapping.items()]
    if rule.default_child is not None:
        branches.append(f"{rule.default_child} otherwise")
    return f"- After {name}, call {', '.join(branches)}."


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
