"""The built-in tools as models and clients see them."""

from inline_snapshot import snapshot

from remanence.tools.builtin.catalogue import BuiltinTool, builtin_tools
from remanence.tools.builtin.memory import MEMORY_TOOLS


def signature(tool: BuiltinTool) -> str:
    parameters = tool.json_schema["parameters"]
    names = (f"{'' if name in parameters['required'] else '?'}{name}" for name in parameters["properties"])
    return f"{tool.tool_type}: {tool.name}({', '.join(names)})"


def test_names_types_and_parameters_are_those_of_the_contract():
    assert [signature(tool) for tool in builtin_tools()] == snapshot(
        [
            "letta_core: send_message(message)",
            "letta_core: conversation_search(?query, ?roles, ?limit, ?start_date, ?end_date)",
            "letta_core: archival_memory_insert(content, ?tags)",
            "letta_core: archival_memory_search(query, ?tags, ?tag_match_mode, ?top_k, ?start_datetime, ?end_datetime)",
            "letta_memory_core: core_memory_append(label, content)",
            "letta_memory_core: core_memory_replace(label, old_content, new_content)",
            "letta_memory_core: memory(command, ?path, ?file_text, ?description, ?old_string, ?new_string, ?insert_line, ?insert_text, ?old_path, ?new_path)",
            "letta_memory_core: memory_apply_patch(label, patch)",
            "letta_sleeptime_core: memory_replace(label, old_string, new_string)",
            "letta_sleeptime_core: memory_insert(label, new_string, ?insert_line)",
            "letta_sleeptime_core: memory_rethink(label, new_memory)",
            "letta_sleeptime_core: memory_finish_edits()",
            "letta_sleeptime_core: memory_capture(facts)",
            "letta_multi_agent_core: send_message_to_agent_and_wait_for_reply(message, other_agent_id)",
            "letta_multi_agent_core: send_message_to_agents_matching_tags(message, match_all, match_some)",
            "letta_multi_agent_core: send_message_to_agent_async(message, other_agent_id)",
            "letta_builtin: run_code(code, language)",
            "letta_builtin: run_code_with_tools(code)",
            "letta_core: memory_history(label, ?limit)",
            "letta_core: memory_undo(label, ?revision)",
            "letta_builtin: web_search(query, ?num_results, ?category, ?include_text, ?include_domains, ?exclude_domains, ?start_published_date, ?end_published_date, ?user_location)",
            "letta_builtin: fetch_webpage(url)",
            "letta_files_core: open_files(file_requests, ?close_all_others)",
            "letta_files_core: grep_files(pattern, ?include, ?context_lines, ?offset)",
            "letta_files_core: semantic_search_files(query, ?limit)",
            "letta_voice_sleeptime_core: search_memory(?convo_keyword_queries, ?start_minutes_ago, ?end_minutes_ago)",
            "letta_voice_sleeptime_core: store_memories(chunks)",
            "letta_voice_sleeptime_core: rethink_user_memory(new_memory)",
            "letta_voice_sleeptime_core: finish_rethinking_memory()",
        ]
    )


def test_every_memory_tool_is_in_the_catalogue():
    assert {tool.name for tool in builtin_tools()} >= MEMORY_TOOLS


def test_only_what_changes_nothing_here_may_run_beside_other_calls():
    parallel = [tool.name for tool in builtin_tools() if tool.enable_parallel_execution]
    assert parallel == [
        *("conversation_search", "archival_memory_search", "run_code", "memory_history"),
        *("web_search", "fetch_webpage", "grep_files", "semantic_search_files"),
    ]


def test_a_description_begins_with_one_line_that_says_it_all():
    for tool in builtin_tools():
        first, _, rest = tool.description.partition("\n")
        assert first.endswith(".")
        assert len(first) <= 110
        assert rest.startswith("\n")
        assert "Example" in rest


def test_every_parameter_is_described():
    for tool in builtin_tools():
        for schema in tool.json_schema["parameters"]["properties"].values():
            assert schema["description"].endswith(".")
            assert schema["type"] in {"string", "integer", "array", "boolean"}


def test_a_schema_has_the_shape_that_clients_know():
    send = next(tool for tool in builtin_tools() if tool.name == "send_message")
    assert list(send.json_schema) == ["name", "description", "parameters"]
    assert list(send.json_schema["parameters"]) == ["type", "properties", "required"]
    search = next(tool for tool in builtin_tools() if tool.name == "conversation_search")
    assert search.json_schema["parameters"]["properties"]["roles"] == {
        "type": "array",
        "items": {"type": "string", "enum": ["assistant", "user", "tool"]},
        "description": "Only messages by these: user, assistant, tool.",
    }
