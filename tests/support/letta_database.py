"""A database as the retired server left it, made from the contract's data model, with people's things in it."""

from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, text
from tests.support.agent_files import LLM

from remanence.kit import json
from remanence.kit.ids import DEFAULT_ORG_ID, DEFAULT_USER_ID
from remanence.kit.json import JsonObject

_AUDIT = "created_at timestamptz DEFAULT now(), updated_at timestamptz, is_deleted boolean NOT NULL DEFAULT false, " \
    "_created_by_id varchar, organization_id varchar"  # fmt: skip
_TABLES = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    "CREATE TYPE vectordbprovider AS ENUM ('NATIVE', 'TPUF')",
    f"CREATE TABLE organizations (id varchar PRIMARY KEY, name varchar, {_AUDIT})",
    f"CREATE TABLE users (id varchar PRIMARY KEY, name varchar, {_AUDIT})",
    f"""CREATE TABLE agents (id varchar PRIMARY KEY, name varchar, description varchar, agent_type varchar,
      system varchar, message_ids json, response_format json, metadata_ json, llm_config json, embedding_config json,
      tool_rules json, message_buffer_autoclear boolean, enable_sleeptime boolean, timezone varchar,
      project_id varchar, hidden boolean, a_column_of_tomorrow varchar, {_AUDIT})""",
    f"""CREATE TABLE block (id varchar, label varchar, value text, "limit" bigint, description varchar,
      metadata_ json, read_only boolean, is_template boolean DEFAULT false, {_AUDIT}, PRIMARY KEY (id, label))""",
    "CREATE TABLE blocks_agents (agent_id varchar, block_id varchar, block_label varchar)",
    f"""CREATE TABLE tools (id varchar PRIMARY KEY, name varchar, tool_type varchar, description varchar,
      source_type varchar, source_code text, json_schema json, args_json_schema json, tags json,
      return_char_limit integer, metadata_ json, {_AUDIT})""",
    "CREATE TABLE tools_agents (agent_id varchar, tool_id varchar)",
    "CREATE TABLE agents_tags (agent_id varchar, tag varchar)",
    f"""CREATE TABLE agent_environment_variables (id varchar PRIMARY KEY, key varchar, value varchar,
      value_enc varchar, agent_id varchar, {_AUDIT})""",
    f"""CREATE TABLE messages (id varchar PRIMARY KEY, agent_id varchar, role varchar, text varchar, content json,
      model varchar, name varchar, tool_calls json, tool_call_id varchar, tool_returns json, step_id varchar,
      otid varchar, sequence_id bigint, is_err boolean, conversation_id varchar, {_AUDIT})""",
    f"CREATE TABLE conversations (id varchar PRIMARY KEY, agent_id varchar, summary varchar, {_AUDIT})",
    """CREATE TABLE conversation_messages (conversation_id varchar, message_id varchar, position integer,
      in_context boolean)""",
    f"""CREATE TABLE archives (id varchar PRIMARY KEY, name varchar, description varchar, metadata_ json,
      vector_db_provider vectordbprovider, embedding_config json, {_AUDIT})""",
    "CREATE TABLE archives_agents (agent_id varchar, archive_id varchar, is_owner boolean)",
    f"""CREATE TABLE archival_passages (id varchar PRIMARY KEY, text text, embedding vector(8), archive_id varchar,
      embedding_config json, metadata_ json, tags json, {_AUDIT})""",
    f"""CREATE TABLE sources (id varchar PRIMARY KEY, name varchar, description varchar, instructions varchar,
      embedding_config json, metadata_ json, {_AUDIT})""",
    "CREATE TABLE sources_agents (agent_id varchar, source_id varchar)",
    f"""CREATE TABLE files (id varchar PRIMARY KEY, source_id varchar, file_name varchar, file_type varchar,
      original_file_name varchar, file_size integer, processing_status varchar, total_chunks integer, {_AUDIT})""",
    "CREATE TABLE file_contents (id varchar, file_id varchar, text text)",
    f"""CREATE TABLE source_passages (id varchar PRIMARY KEY, text text, embedding vector(8), source_id varchar,
      file_id varchar, file_name varchar, embedding_config json, metadata_ json, tags json, {_AUDIT})""",
    f"""CREATE TABLE identities (id varchar PRIMARY KEY, identifier_key varchar, name varchar, identity_type varchar,
      properties json, project_id varchar, {_AUDIT})""",
    "CREATE TABLE identities_agents (identity_id varchar, agent_id varchar)",
    f"""CREATE TABLE groups (id varchar PRIMARY KEY, description varchar, manager_type varchar,
      manager_agent_id varchar, sleeptime_agent_frequency integer, turns_counter integer, {_AUDIT})""",
    "CREATE TABLE groups_agents (group_id varchar, agent_id varchar)",
    f"""CREATE TABLE providers (id varchar PRIMARY KEY, name varchar, provider_type varchar,
      provider_category varchar, api_key varchar, base_url varchar, {_AUDIT})""",
    f"""CREATE TABLE mcp_server (id varchar PRIMARY KEY, server_name varchar, server_type varchar, server_url varchar,
      stdio_config json, token varchar, {_AUDIT})""",
)

MODEL = LLM | {"provider_name": "openai", "provider_category": "base"}
EMBEDDING = {
    "embedding_endpoint_type": "openai",
    "embedding_model": "tiny",
    "embedding_dim": 4,
    "embedding_endpoint": "http://127.0.0.1:9/v1",
    "handle": "openai/tiny",
}


class LettaBuilder:
    """Fills the tables; ids are made here and kept by whoever reads them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        for statement in _TABLES:
            connection.execute(text(statement))
        self.add("organizations", id=str(DEFAULT_ORG_ID), name="default_org")
        self.add("users", id=str(DEFAULT_USER_ID), name="default_user", organization_id=str(DEFAULT_ORG_ID))

    def add(self, table: str, prefix: str | None = None, **values: Any) -> str:
        if prefix is not None:
            values = {"id": f"{prefix}-{uuid4()}", "organization_id": str(DEFAULT_ORG_ID)} | values
        plain = {key: _stored(value) for key, value in values.items()}
        columns = ", ".join(f'"{key}"' for key in plain)
        marks = ", ".join(_mark(key, values[key]) for key in plain)
        self._connection.execute(text(f"INSERT INTO {table} ({columns}) VALUES ({marks})"), plain)
        return str(values.get("id", ""))

    def agent(self, name: str, **values: Any) -> str:
        given = {
            "agent_type": "memgpt_v2_agent",
            "system": "You are kind.",
            "llm_config": MODEL,
            "timezone": "UTC",
            "_created_by_id": str(DEFAULT_USER_ID),
        }
        return self.add("agents", "agent", name=name, message_buffer_autoclear=False, **(given | values))

    def message(self, agent_id: str, place: int, role: str, words: str, **values: Any) -> str:
        content = [{"type": "text", "text": words}]
        given = {"content": content, "sequence_id": place}
        return self.add("messages", "message", agent_id=agent_id, role=role, **(given | values))


def _stored(value: Any) -> Any:
    return json.encode_text(value) if isinstance(value, dict | list) else value  # pyright: ignore[reportUnknownArgumentType]


def _mark(name: str, value: object) -> str:
    if name == "embedding":
        return "CAST(CAST(:embedding AS text) AS vector)"
    if name == "vector_db_provider":
        return "CAST(CAST(:vector_db_provider AS text) AS vectordbprovider)"
    return f"CAST(:{name} AS json)" if isinstance(value, dict | list) else f":{name}"


def furnish_letta(connection: Connection) -> dict[str, str]:
    """A little of everything, as several years of use leave it; the ids by what they are."""
    made = LettaBuilder(connection)
    other = made.add("organizations", id=f"org-{uuid4()}", name="other")
    ids = {"other": other}
    ids["ann"] = ann = made.agent("ann", tool_rules=[{"type": "exit_loop", "tool_name": "send_message"}, {"type": "psychic"}],
                                  embedding_config=EMBEDDING, metadata_={"k": 1})  # fmt: skip
    ids["bob"] = made.agent(
        "bob", organization_id=other, agent_type="letta_v1_agent", timezone="Mars/Olympus"
    )
    ids["lost"] = made.agent("lost", llm_config={"model": "x"})
    made.agent("deleted", is_deleted=True)
    ids["block"] = block = made.add(
        "block", "block", label="human", value="Likes figs.", limit=5000, metadata_={}
    )
    made.add("blocks_agents", agent_id=ann, block_id=block, block_label="human")
    for name, kind in (("send_message", "letta_core"), ("peek", "custom"), ("levitate", "letta_core")):
        schema: JsonObject = {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": {}},
        }
        ids[name] = made.add("tools", "tool", name=name, tool_type=kind, json_schema=schema, tags=[], return_char_limit=999,
                             source_type="python", source_code=f"def {name}():\n    return 1\n")  # fmt: skip
        made.add("tools_agents", agent_id=ann, tool_id=ids[name])
    made.add("agents_tags", agent_id=ann, tag="old")
    made.add("agent_environment_variables", "agent-env", agent_id=ann, key="TOKEN", value="hush")
    made.add(
        "agent_environment_variables", "agent-env", agent_id=ann, key="SEALED", value=None, value_enc="gAAA"
    )
    call = [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "send_message", "arguments": '{"message": "Hi"}'},
        }
    ]
    given = {"tool_call_id": "c1", "status": "success", "func_response": "OK"}
    said = [
        made.message(ann, 1, "system", "An old prompt."),
        made.message(ann, 2, "user", "Long ago."),
        made.message(ann, 3, "user", "Hello figs.", text="Hello figs.", content=None),
        made.message(ann, 4, "assistant", "Thinking.", tool_calls=call),
        made.message(ann, 5, "tool", "", tool_returns=[given], tool_call_id="c1", name="send_message"),
    ]
    # All of one moment: their order is in their numbers alone.
    connection.execute(text("UPDATE messages SET created_at = '2025-01-01T00:00:00Z'"))
    made.message(ann, 6, "prophet", "Unheard.")
    connection.execute(
        text("UPDATE agents SET message_ids = CAST(:ids AS json) WHERE id = :id"),
        {"ids": json.encode_text([said[0], *said[2:], "message-gone"]), "id": ann},
    )
    ids["said"] = ",".join(said)
    ids["talk"] = talk = made.add("conversations", "conv", agent_id=ann, summary="aside")
    aside = made.message(ann, 7, "user", "Psst.", conversation_id=talk)
    made.add("conversation_messages", conversation_id=talk, message_id=aside, position=0, in_context=True)
    ids["archive"] = archive = made.add("archives", "archive", name="notes", embedding_config=EMBEDDING,
                                        vector_db_provider="NATIVE")  # fmt: skip
    made.add("archives_agents", agent_id=ann, archive_id=archive, is_owner=True)
    ids["passage"] = made.add("archival_passages", "passage", archive_id=archive, text="Quinces ripen late.", tags=["fruit"],
                              embedding="[1,0,0,0,0,0,0,0]", embedding_config=EMBEDDING, metadata_={})  # fmt: skip
    made.add(
        "archival_passages",
        "passage",
        archive_id="archive-gone",
        text="Nobody's.",
        embedding_config=EMBEDDING,
    )
    ids["source"] = source = made.add("sources", "source", name="books", embedding_config=EMBEDDING)
    made.add("sources_agents", agent_id=ann, source_id=source)
    for number, (name, words) in enumerate((("a", "Figs and quinces."), ("b", "Medlars alone."))):
        ids[f"file_{name}"] = file = made.add(
            "files",
            "file",
            source_id=source,
            file_name=f"books/{name}.txt",
            original_file_name=f"{name}.txt",
            processing_status="COMPLETED",
            total_chunks=1,
        )
        made.add("file_contents", id=str(number), file_id=file, text=words)
    ids["chunk"] = made.add("source_passages", "passage", source_id=source, file_id=ids["file_a"], text="Figs and quinces.",
                            file_name="books/a.txt", embedding="[0,1,0,0,0,0,0,0]", embedding_config=EMBEDDING,
                            metadata_={})  # fmt: skip
    ids["identity"] = who = made.add("identities", "identity", identifier_key="eve", name="Eve", identity_type="user",
                                     properties=[])  # fmt: skip
    made.add("identities_agents", identity_id=who, agent_id=ann)
    ids["group"] = group = made.add("groups", "group", description="pair", manager_type="round_robin")
    made.add("groups_agents", group_id=group, agent_id=ann)
    ids["provider"] = made.add("providers", "provider", name="mine", provider_type="openai", provider_category="byok",
                               api_key="sk-secret", base_url="http://127.0.0.1:9/v1")  # fmt: skip
    made.add("providers", "provider", name="openai", provider_type="openai", provider_category="base")
    ids["server"] = made.add("mcp_server", "mcp_server", server_name="far", server_type="streamable_http",
                             server_url="http://127.0.0.1:9/mcp", token="t0ken")  # fmt: skip
    return ids
