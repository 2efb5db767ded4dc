"""The nine tool rules, each alone and together."""

import random
from collections.abc import Sequence
from typing import Literal

import pytest

from remanence.core.profile import ReplyStyle
from remanence.core.rules import (
    CallRecord,
    Continue,
    StepCall,
    StepPlan,
    Stop,
    allows_parallel,
    check_prefill,
    decide_next,
    missing_required,
    needs_approval,
    plan_step,
    refusal,
    render_rules,
    validate_rules,
)
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
    ToolCallNode,
    ToolRule,
)
from remanence.kit.ids import DEFAULT_ORG_ID, new_tool_id
from remanence.kit.json import JsonObject

TOOLS = ("a", "b", "c", "send_message")
STYLES: tuple[ReplyStyle, ...] = ("native", "heartbeat")


def ran(*names: str) -> list[CallRecord]:
    return [CallRecord(name, "ok") for name in names]


def plan(
    rules: Sequence[ToolRule],
    history: Sequence[CallRecord] = (),
    *,
    reply: ReplyStyle = "native",
    tools: Sequence[str] = TOOLS,
) -> StepPlan:
    return plan_step(rules, history, tools, reply=reply)


def decide(
    rules: Sequence[ToolRule] = (),
    *calls: StepCall,
    history: Sequence[CallRecord] | None = None,
    reply: ReplyStyle = "native",
    is_last_step: bool = False,
    finish: Literal["stop", "tool_calls", "length"] = "stop",
    tools: Sequence[str] = TOOLS,
) -> Continue | Stop:
    past = ran(*(call.name for call in calls if call.was_allowed)) if history is None else history
    return decide_next(
        rules, past, reply=reply, calls=calls, tool_names=tools, is_last_step=is_last_step, finish=finish
    )


def did(name: str, *, heartbeat: bool = False) -> StepCall:
    return StepCall(name, succeeded=True, requested_heartbeat=heartbeat)


def failed(name: str) -> StepCall:
    return StepCall(name, succeeded=False)


def refused(name: str) -> StepCall:
    return StepCall(name, succeeded=False, was_allowed=False)


class TestPlan:
    def test_without_rules_a_native_agent_may_call_anything_or_nothing(self):
        assert plan([]) == StepPlan(TOOLS, must_call=False)

    def test_without_rules_a_heartbeat_agent_must_call_something(self):
        assert plan([], reply="heartbeat") == StepPlan(TOOLS, must_call=True)

    def test_without_tools_nobody_can_be_made_to_call(self):
        assert plan([], reply="heartbeat", tools=()) == StepPlan((), must_call=False)

    def test_run_first_forces_the_first_call_and_fills_its_arguments(self):
        rule = RunFirst(tool_name="b", args={"q": 1})
        assert plan([rule]) == StepPlan(("b",), must_call=True, forced_tool="b", prefilled={"b": {"q": 1}})

    def test_run_first_has_no_say_after_the_first_call(self):
        assert plan([RunFirst(tool_name="b", args={"q": 1})], ran("b")) == StepPlan(TOOLS, must_call=False)

    def test_several_run_first_tools_leave_the_choice_among_them(self):
        found = plan([RunFirst(tool_name="c"), RunFirst(tool_name="a")])
        assert (found.allowed, found.must_call, found.forced_tool) == (("a", "c"), True, None)

    def test_a_run_first_tool_that_is_not_attached_is_ignored(self):
        assert plan([RunFirst(tool_name="gone")]) == StepPlan(TOOLS, must_call=False)

    def test_run_first_stands_above_rules_about_order(self):
        rules = [RunFirst(tool_name="b"), ParentTool(tool_name="a", children=("b",))]
        assert plan(rules).allowed == ("b",)

    def test_children_are_forced_right_after_their_tool_only(self):
        rule = ChildTools(tool_name="a", children=("b", "c"))
        assert plan([rule], ran("a")).allowed == ("b", "c")
        assert plan([rule], ran("a")).must_call
        assert plan([rule], ran("a", "b")) == StepPlan(TOOLS, must_call=False)

    def test_child_arguments_are_filled_only_when_the_child_is_due(self):
        nodes = (ToolCallNode(name="b", args={"x": 1}), ToolCallNode(name="c"))
        rule = ChildTools(tool_name="a", children=("b", "c"), child_arg_nodes=nodes)
        assert plan([rule], ran("a")).prefilled == {"b": {"x": 1}}
        assert plan([rule]).prefilled == {}

    @pytest.mark.parametrize(
        ("result", "expected"),
        [("yes", ("b",)), (" yes\n", ("b",)), ("YES", ("b",)), ("no", ("c",)), ("else", ("c",))],
    )
    def test_a_conditional_chooses_the_child_by_the_result(self, result: str, expected: tuple[str, ...]):
        rule = Conditional(tool_name="a", child_output_mapping={"yes": "b"}, default_child="c")
        found = plan([rule], [CallRecord("a", result)])
        assert (found.allowed, found.must_call) == (expected, True)

    def test_the_case_of_an_output_counts_where_it_makes_a_difference(self):
        rule = Conditional(tool_name="a", child_output_mapping={"yes": "b", "Yes": "c"})
        assert plan([rule], [CallRecord("a", "Yes")]).allowed == ("c",)
        assert plan([rule], [CallRecord("a", "YES")]) == StepPlan(TOOLS, must_call=False)

    def test_a_conditional_without_match_or_default_leaves_everything_open(self):
        rule = Conditional(tool_name="a", child_output_mapping={"yes": "b"})
        assert plan([rule], [CallRecord("a", "?")]) == StepPlan(TOOLS, must_call=False)

    def test_a_strict_conditional_without_match_leaves_a_heartbeat_agent_nothing(self):
        rule = Conditional(tool_name="a", child_output_mapping={"yes": "b"}, require_output_mapping=True)
        history = [CallRecord("a", "?")]
        assert plan([rule], history, reply="heartbeat") == StepPlan((), must_call=False)
        assert plan([rule], history) == StepPlan(TOOLS, must_call=False)

    def test_children_of_a_parent_are_hidden_until_it_was_called_last(self):
        rule = ParentTool(tool_name="a", children=("b",))
        assert plan([rule]).allowed == ("a", "c", "send_message")
        assert plan([rule], ran("a")) == StepPlan(("b",), must_call=True, forced_tool="b")
        assert plan([rule], ran("a", "b")).allowed == ("a", "c", "send_message")

    def test_a_child_of_two_parents_may_follow_either(self):
        rules = [ParentTool(tool_name="a", children=("c",)), ParentTool(tool_name="b", children=("c",))]
        assert plan(rules, ran("a"), reply="heartbeat").allowed == ("c",)
        assert plan(rules, ran("b"), reply="heartbeat").allowed == ("c",)
        assert "c" not in plan(rules).allowed

    def test_a_tool_is_hidden_once_it_was_called_often_enough(self):
        rule = MaxCountPerStep(tool_name="a", max_count_limit=2)
        assert "a" in plan([rule], ran("a", "b")).allowed
        assert "a" not in plan([rule], ran("a", "b", "a")).allowed

    def test_rules_narrow_each_other_down(self):
        rules = [
            ChildTools(tool_name="a", children=("a", "b", "c")),
            MaxCountPerStep(tool_name="a", max_count_limit=1),
            ParentTool(tool_name="c", children=("b",)),
        ]
        assert plan(rules, ran("a")) == StepPlan(("c",), must_call=True, forced_tool="c")

    def test_rules_that_leave_nothing_do_not_bind_a_native_agent(self):
        rules = [
            ChildTools(tool_name="a", children=("b",)),
            MaxCountPerStep(tool_name="b", max_count_limit=1),
        ]
        assert plan(rules, ran("b", "a")) == StepPlan(TOOLS, must_call=False)
        assert plan(rules, ran("b", "a"), reply="heartbeat").allowed == ()

    def test_whoever_was_reminded_of_required_tools_must_call(self):
        rules = [RequiredBeforeExit(tool_name="a")]
        assert plan_step(rules, (), TOOLS, reply="native", is_reminded=True) == StepPlan(
            TOOLS, must_call=True
        )

    def test_rules_about_the_end_do_not_narrow_the_choice(self):
        rules = [
            ExitLoop(tool_name="a"),
            ContinueLoop(tool_name="b"),
            RequiredBeforeExit(tool_name="c"),
            RequiresApproval(tool_name="a"),
        ]
        assert plan(rules, ran("a")) == StepPlan(TOOLS, must_call=False)


class TestNative:
    def test_text_alone_ends_the_turn(self):
        assert decide() == Stop("end_turn")

    def test_text_cut_at_the_output_limit_is_told_apart(self):
        assert decide(finish="length") == Stop("max_tokens_exceeded")

    def test_any_call_goes_on_without_a_notice(self):
        assert decide([], did("a")) == Continue()
        assert decide([], failed("a")) == Continue()
        assert decide([], refused("a")) == Continue()
        assert decide([], did("a"), did("b")) == Continue()

    def test_an_exit_rule_ends_the_turn(self):
        assert decide([ExitLoop(tool_name="a")], did("a")) == Stop("tool_rule")
        assert decide([ExitLoop(tool_name="a")], did("b"), did("a")) == Stop("tool_rule")
        assert decide([ExitLoop(tool_name="a")], did("b")) == Continue()

    def test_an_exit_tool_that_failed_is_the_models_to_mend(self):
        assert decide([ExitLoop(tool_name="a")], failed("a")) == Continue()
        assert decide([ExitLoop(tool_name="a")], refused("a")) == Continue()

    def test_the_last_step_ends_a_turn_that_would_go_on(self):
        assert decide([], did("a"), is_last_step=True) == Stop("max_steps")
        assert decide([ExitLoop(tool_name="a")], did("a"), is_last_step=True) == Stop("tool_rule")
        assert decide(is_last_step=True) == Stop("end_turn")

    def test_required_tools_hold_the_end_back_and_are_named(self):
        rules = [RequiredBeforeExit(tool_name="a"), RequiredBeforeExit(tool_name="b")]
        verdict = decide(rules, history=ran("b"))
        assert isinstance(verdict, Continue)
        assert verdict.reason == "Your turn cannot end yet. First call this tool: a."
        assert decide(rules, history=ran("b", "a")) == Stop("end_turn")

    def test_required_tools_that_are_not_attached_hold_nothing_back(self):
        assert decide([RequiredBeforeExit(tool_name="gone")]) == Stop("end_turn")

    def test_required_tools_beat_an_exit_rule_but_not_the_last_step(self):
        rules = [RequiredBeforeExit(tool_name="b"), ExitLoop(tool_name="a")]
        verdict = decide(rules, did("a"))
        assert isinstance(verdict, Continue)
        assert verdict.reason is not None
        assert decide(rules, did("a"), is_last_step=True) == Stop("max_steps")
        assert decide(rules, did("a"), history=ran("b", "a")) == Stop("tool_rule")


class TestHeartbeat:
    def test_words_without_a_call_stop_the_loop(self):
        assert decide(reply="heartbeat") == Stop("no_tool_call")

    def test_a_call_without_a_heartbeat_ends_the_turn(self):
        assert decide([], did("a"), reply="heartbeat") == Stop("end_turn")

    def test_a_requested_heartbeat_goes_on_with_a_notice(self):
        verdict = decide([], did("a", heartbeat=True), reply="heartbeat")
        assert verdict == Continue("You asked to go on after a.")

    def test_an_exit_rule_ends_the_turn_and_tells_who_wanted_more(self):
        rules = [ExitLoop(tool_name="send_message")]
        assert decide(rules, did("send_message"), reply="heartbeat") == Stop("end_turn")
        assert decide(rules, did("send_message", heartbeat=True), reply="heartbeat") == Stop("tool_rule")

    @pytest.mark.parametrize(
        "rule",
        [
            ContinueLoop(tool_name="a"),
            ChildTools(tool_name="a", children=("b",)),
            Conditional(tool_name="a", child_output_mapping={"ok": "b"}),
        ],
    )
    def test_rules_that_name_a_sequel_go_on(self, rule: ToolRule):
        assert decide([rule], did("a"), reply="heartbeat") == Continue("Your turn goes on after a.")

    def test_a_failed_or_refused_call_goes_on_so_that_it_can_be_mended(self):
        for call in (failed("a"), refused("a")):
            verdict = decide([ExitLoop(tool_name="a")], call, reply="heartbeat")
            assert isinstance(verdict, Continue)
            assert verdict.reason is not None
            assert verdict.reason.startswith("a ")

    def test_required_tools_beat_an_exit_rule(self):
        rules = [RequiredBeforeExit(tool_name="b"), ExitLoop(tool_name="a")]
        verdict = decide(rules, did("a"), reply="heartbeat")
        assert verdict == Continue("Your turn cannot end yet. First call this tool: b.")

    def test_the_last_step_ends_a_turn_that_would_go_on(self):
        assert decide([], did("a", heartbeat=True), reply="heartbeat", is_last_step=True) == Stop("max_steps")
        assert decide([], did("a"), reply="heartbeat", is_last_step=True) == Stop("end_turn")

    def test_a_turn_ends_by_rule_when_nothing_may_be_called_any_more(self):
        rule = Conditional(tool_name="a", child_output_mapping={"yes": "b"}, require_output_mapping=True)
        assert decide([rule], did("a"), reply="heartbeat") == Stop("tool_rule")


PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "mode": {"type": "string", "enum": ["x", "y"]}},
    "required": ["n", "mode"],
}


class TestPrefill:
    def test_a_part_of_the_arguments_is_enough(self):
        assert check_prefill({"n": 3}, PARAMETERS) is None

    def test_unknown_names_and_wrong_values_are_told(self):
        assert check_prefill({"m": 3}, PARAMETERS) == "m is not a parameter of the tool"
        assert check_prefill({"n": "3"}, PARAMETERS) == 'n must be integer, not "3"'
        assert check_prefill({"mode": "z"}, PARAMETERS) == 'mode must be one of "x", "y", not "z"'

    def test_rules_are_checked_against_the_tools_they_prefill(self):
        tool = Tool(
            id=new_tool_id(),
            organization_id=DEFAULT_ORG_ID,
            name="b",
            json_schema={"name": "b", "parameters": PARAMETERS},
        )
        rules: list[ToolRule] = [
            RunFirst(tool_name="b", args={"n": 1}),
            RunFirst(tool_name="elsewhere", args={"z": 1}),
            ChildTools(
                tool_name="a", children=("b",), child_arg_nodes=(ToolCallNode(name="b", args={"n": None}),)
            ),
            MaxCountPerStep(tool_name="b", max_count_limit=-1),
        ]
        assert validate_rules(rules, {"b": tool}) == (
            "constrain_child_tools of a, arguments for b: n must be integer, not null",
            "max_count_per_step of b: the limit is below zero",
        )


def test_approval_is_asked_for_the_named_tool_only():
    rules = [RequiresApproval(tool_name="a"), ExitLoop(tool_name="b")]
    assert needs_approval(rules, "a")
    assert not needs_approval(rules, "b")


def test_parallel_calls_bear_no_rule_but_approval():
    assert allows_parallel([])
    assert allows_parallel([RequiresApproval(tool_name="a")])
    assert not allows_parallel([RequiresApproval(tool_name="a"), ContinueLoop(tool_name="b")])


def test_a_refused_call_learns_what_it_may_call():
    assert (
        refusal("x", StepPlan(("a", "b"), True)) == "x was not run: at this point you may only call a or b."
    )


def test_rules_are_told_to_the_model_in_plain_sentences():
    rules: list[ToolRule] = [
        ContinueLoop(tool_name="search"),
        ExitLoop(tool_name="send_message"),
        RunFirst(tool_name="look"),
        ContinueLoop(tool_name="note"),
        ChildTools(tool_name="a", children=("b", "c")),
        ParentTool(tool_name="a", children=("d",)),
        Conditional(tool_name="t", child_output_mapping={"true": "b"}, default_child="c"),
        MaxCountPerStep(tool_name="a", max_count_limit=2),
        RequiredBeforeExit(tool_name="secret"),
        RequiresApproval(tool_name="secret"),
    ]
    assert render_rules(rules) == "\n".join(
        (
            "- Begin every turn by calling look.",
            "- Your turn goes on after a call of search or note.",
            "- Your turn ends with a call of send_message.",
            "- After a, call b or c next.",
            "- Call d only right after a.",
            '- After t, call b if it returned "true", c otherwise.',
            "- Call a at most twice in a turn.",
        )
    )


def test_rules_that_concern_the_server_alone_say_nothing():
    assert render_rules([RequiredBeforeExit(tool_name="a"), RequiresApproval(tool_name="a")]) is None


def some_rules(dice: random.Random) -> list[ToolRule]:
    def tool() -> str:
        return dice.choice((*TOOLS, "gone"))

    def some() -> tuple[str, ...]:
        return tuple(tool() for _ in range(dice.randint(0, 3)))

    makers = (
        lambda: RunFirst(tool_name=tool(), args={"x": 1}),
        lambda: ExitLoop(tool_name=tool()),
        lambda: ContinueLoop(tool_name=tool()),
        lambda: ChildTools(tool_name=tool(), children=some()),
        lambda: ParentTool(tool_name=tool(), children=some()),
        lambda: Conditional(
            tool_name=tool(), child_output_mapping={"ok": tool()}, require_output_mapping=dice.random() < 0.5
        ),
        lambda: MaxCountPerStep(tool_name=tool(), max_count_limit=dice.randint(0, 2)),
        lambda: RequiredBeforeExit(tool_name=tool()),
        lambda: RequiresApproval(tool_name=tool()),
    )
    return [dice.choice(makers)() for _ in range(dice.randint(0, 6))]


@pytest.mark.parametrize("reply", STYLES)
def test_whatever_the_rules_a_plan_keeps_its_promises(reply: ReplyStyle):
    dice = random.Random(7)
    for _ in range(3000):
        rules = some_rules(dice)
        history = ran(*(dice.choice(TOOLS) for _ in range(dice.randint(0, 4))))
        found = plan_step(rules, history, TOOLS, reply=reply, is_reminded=dice.random() < 0.2)
        assert set(found.allowed) <= set(TOOLS)
        assert set(found.prefilled) <= set(found.allowed)
        assert found.allowed or not found.must_call
        assert found.forced_tool is None or (found.must_call and found.allowed == (found.forced_tool,))
        assert reply == "heartbeat" or found.allowed
        assert reply == "native" or found.must_call == bool(found.allowed)


@pytest.mark.parametrize("reply", STYLES)
def test_whatever_the_rules_a_turn_ends_only_when_nothing_is_owed(reply: ReplyStyle):
    dice = random.Random(11)
    for _ in range(3000):
        rules = some_rules(dice)
        history: list[CallRecord] = []
        for step in range(6):
            found = plan_step(rules, history, TOOLS, reply=reply)
            name = dice.choice(found.allowed) if found.allowed and dice.random() < 0.8 else None
            calls = [did(name, heartbeat=dice.random() < 0.5)] if name else []
            history += ran(*(call.name for call in calls))
            verdict = decide(rules, *calls, history=history, reply=reply, is_last_step=step == 5)
            if isinstance(verdict, Continue):
                assert step < 5
                assert reply == "native" or verdict.reason
                continue
            owed = missing_required(rules, history, TOOLS)
            if owed and verdict.reason not in ("max_steps", "no_tool_call"):
                # Only rules that leave nothing to call may end a turn that still owes something.
                assert reply == "heartbeat"
                assert not plan_step(rules, history, TOOLS, reply=reply).allowed
            break
