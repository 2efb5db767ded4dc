"""A group on the wire, also as a part of the agent that manages it."""

from typing import Any

from remanence.core.group import Group


def group_body(group: Group) -> dict[str, Any]:
    return {
        "id": group.id,
        "manager_type": group.manager_type,
        "agent_ids": list(group.agent_ids),
        "description": group.description,
        "project_id": group.project_id,
        "template_id": group.template_id,
        "base_template_id": group.base_template_id,
        "deployment_id": group.deployment_id,
        "shared_block_ids": list(group.shared_block_ids),
        "manager_agent_id": group.manager_agent_id,
        "termination_token": group.termination_token,
        "max_turns": group.max_turns,
        "sleeptime_agent_frequency": group.sleeptime_agent_frequency,
        "turns_counter": group.turns_counter,
        "last_processed_message_id": group.last_processed_message_id,
        "max_message_buffer_length": group.max_message_buffer_length,
        "min_message_buffer_length": group.min_message_buffer_length,
        "hidden": group.hidden,
    }
