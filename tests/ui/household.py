"""An agent with a life, for screens that should have something on them."""

from typing import Any

from tests.support.script import calls, says, thinks
from tests.support.talks import Talk

EMAIL_TOOL = '''
def send_email(to: str, subject: str, body: str) -> str:
    """
    Send a letter.

    Args:
        to: Whom to write to.
        subject: What it is about.
        body: The letter.
    """
    return "sent"
'''

QUOTES_TOOL = '''
def compare_quotes(item: str, include_vat: bool) -> dict:
    """
    Compare the quotes that came in for an item.

    Args:
        item: What the quotes are for.
        include_vat: Whether totals include VAT.
    """
    return {"bergstrom": 2140, "sten_och_form": 2390}
'''


def move_in(talk: Talk) -> dict[str, Any]:
    """Hearth, who plans a kitchen: blocks, tools with rules, a few turns, and a call that waits."""
    tools = [
        talk.ask("POST", "/v1/tools/", json={"source_code": code})["id"] for code in (EMAIL_TOOL, QUOTES_TOOL)
    ]
    agent = talk.tenant.agent(
        name="Hearth",
        description="Keeps Maya’s kitchen renovation on budget and in order.",
        tags=["kitchen", "home"],
        context_window_limit=32768,
        tool_ids=tools,
        tool_rules=[
            {"type": "requires_approval", "tool_name": "send_email"},
            {"type": "max_count_per_step", "tool_name": "compare_quotes", "max_count_limit": 2},
        ],
        memory_blocks=[
            {
                "label": "persona",
                "limit": 5000,
                "read_only": True,
                "value": "I am Hearth, a renovation planner. I keep the budget, the order of the trades and the open decisions straight so that Maya does not have to. I say what a choice costs before I recommend it, and I ask one question at a time.",
            },
            {
                "label": "human",
                "limit": 5000,
                "value": "Maya Lindqvist. Cooks every day, shops on Saturdays. Lives with Tomas and two children on the third floor, no lift, house of 1936.",
            },
            {
                "label": "budget",
                "limit": 1000,
                "value": "Ceiling €24,000 with VAT; raise only if both agree.\nCommitted: €15,380.\nFree: €8,620.",
            },
        ],
        secrets={"SMTP_PASSWORD": "hidden", "SMTP_USER": "maya"},
    )
    talk.say(
        agent,
        "Both worktop quotes are in the folder now. Check them against the budget and tell Bergström if we take theirs.",
        thinks("Totals must include VAT and delivery before I compare them with what is left.")
        + calls("compare_quotes", item="worktop", include_vat=True).counting(
            prompt=21874, completion=148, cached=20124
        ),
        calls(
            "memory_replace",
            label="budget",
            old_string="Committed: €15,380.",
            new_string="Committed: €17,520, with the oak worktop €2,140.",
        ),
        says(
            "Take the oak. It is **€250 cheaper** delivered, and it leaves **€6,480** of the 24,000 free.\n\n"
            "- Five weeks’ lead time, so order by Friday\n- The fitter comes on 18 January"
        )
        + calls(
            "send_email",
            to="order@bergstrom-tra.example",
            subject="Order: oak worktop, offer 2611-084",
            body="Dear Elin,\nwe take your offer no. 2611-084: oak, 40 mm, oiled, €2,140 delivered. Please confirm delivery in the week of 11 January.\nMaya Lindqvist",
        ),
    )
    return agent
