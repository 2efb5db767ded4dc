"""Tools made from source: created, changed, searched and deleted through the SDK."""

from typing import Any

import pytest
from letta_client import BadRequestError, ConflictError, NotFoundError, UnprocessableEntityError
from tests.support.tenants import Tenant

ROLL = '''
def roll_dice(sides: int, times: int = 1) -> str:
    """
    Rolls dice.

    Args:
        sides (int): How many sides.
        times (int): How often.

    Returns:
        str: The sum.
    """
    print("rolling")
    return str(sides * times)
'''
ROLL_SCHEMA: dict[str, object] = {
    "name": "roll_dice",
    "description": "Rolls dice.",
    "parameters": {
        "type": "object",
        "properties": {
            "sides": {"type": "integer", "description": "How many sides."},
            "times": {"type": "integer", "description": "How often."},
        },
        "required": ["sides"],
    },
}
ADD_SCHEMA: dict[str, object] = {
    "name": "add_numbers",
    "description": "Adds two numbers.",
    "parameters": {
        "type": "object",
        "properties": {
            "a": {"type": "number", "description": "first"},
            "b": {"type": "number", "description": "second"},
        },
        "required": ["a", "b"],
    },
}


@pytest.mark.promise("tools.create")
def test_a_tool_is_made_from_its_source_alone(tenant: Tenant) -> None:
    tool = tenant.http.post("/v1/tools/", json={"source_code": ROLL, "tags": ["demo"]}).json()
    assert tool.pop("id").startswith("tool-")
    assert tool == {
        "tool_type": "custom",
        "description": "Rolls dice.",
        "source_type": "python",
        "name": "roll_dice",
        "tags": ["demo"],
        "source_code": ROLL,
        "json_schema": ROLL_SCHEMA,
        "args_json_schema": {},
        "return_char_limit": 50000,
        "pip_requirements": None,
        "npm_requirements": None,
        "default_requires_approval": None,
        "enable_parallel_execution": False,
        "created_by_id": tenant.actor.user_id,
        "last_updated_by_id": tenant.actor.user_id,
        "metadata_": {},
        "project_id": None,
    }


@pytest.mark.promise("tools.create")
def test_a_name_that_exists_is_changed_in_place(tenant: Tenant) -> None:
    first = tenant.sdk.tools.create(source_code=ROLL, tags=["demo"], return_char_limit=500)
    other = ROLL.replace("rolling", "rolls").replace("How often.", "How many times.")
    again = tenant.sdk.tools.upsert(source_code=other)
    assert (again.id, again.tags, again.return_char_limit) == (first.id, ["demo"], 500)
    assert again.source_code == other
    schema: Any = again.json_schema
    assert schema["parameters"]["properties"]["times"]["description"] == "How many times."
    assert tenant.sdk.tools.create(source_code=ROLL, tags=[]).tags == []
    assert tenant.http.get("/v1/tools/count", params={"name": "roll_dice"}).json() == 1


@pytest.mark.promise("tools.create")
def test_schemas_may_be_given_whole_or_for_the_arguments(tenant: Tenant) -> None:
    tool = tenant.sdk.tools.create(
        source_code="def add_numbers(a, b):\n    return a + b\n",
        description="Adds.",
        json_schema=ADD_SCHEMA,
        enable_parallel_execution=True,
        pip_requirements=[{"name": "numpy", "version": "2.1"}],
    )
    assert (tool.name, tool.description, tool.json_schema) == ("add_numbers", "Adds.", ADD_SCHEMA)
    assert tool.pip_requirements is not None
    assert (tool.pip_requirements[0].name, tool.pip_requirements[0].version) == ("numpy", "2.1")
    args: dict[str, object] = {
        "properties": {"n": {"type": "integer", "description": "N."}},
        "required": ["n"],
        "type": "object",
    }
    tool = tenant.sdk.tools.create(source_code='def twice(n):\n    """Doubles."""\n', args_json_schema=args)
    assert tool.args_json_schema == args
    assert tool.json_schema == {"name": "twice", "description": "Doubles.", "parameters": args}


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"source_code": "def f(x: int):\n    return x\n"}, BadRequestError, "docstring"),
    ({"source_code": "def f(:"}, BadRequestError, "line 1"),
    ({"source_code": 'def f(x: Frame):\n    """F.\n\n    Args:\n        x: X."""'}, BadRequestError, "`x`"),
    ({"source_code": "def f(): ...", "json_schema": {"parameters": {}}}, BadRequestError, "name"),
    ({"source_code": "def f(:", "json_schema": ADD_SCHEMA}, BadRequestError, "line 1"),
    ({"source_code": "fn f() {}", "source_type": "rust"}, UnprocessableEntityError, "rust"),
    ({"source_code": "let x = 1", "source_type": "typescript"}, UnprocessableEntityError, "json_schema"),
    ({"source_code": ROLL, "return_char_limit": 0}, UnprocessableEntityError, "return_char_limit"),
    ({"source_code": ROLL, "pip_requirements": [{"name": "--index-url=x"}]}, UnprocessableEntityError, "pip"),
    ({"source_code": ROLL.replace("roll_dice", "send_message")}, ConflictError, "built-in"),
]


@pytest.mark.promise("tools.refused")
def test_what_cannot_be_a_tool_is_refused_and_changes_nothing(tenant: Tenant) -> None:
    before = tenant.http.get("/v1/tools/", params={"limit": 100}).json()
    for body, error, word in REFUSED:
        with pytest.raises(error) as refusal:
            tenant.sdk.tools.create(**body)
        assert word in str(refusal.value), body
    assert tenant.http.get("/v1/tools/", params={"limit": 100}).json() == before


@pytest.mark.promise("tools.languages")
def test_typescript_has_its_schema_from_its_types(tenant: Tenant) -> None:
    source = """
    /** Finds the weather.
     * @param city - Where.
     * @param days - How far ahead. */
    export async function weather(city: string, days?: number): Promise<string> { return city; }
    """
    tool = tenant.sdk.tools.create(source_code=source, source_type="typescript")
    assert (tool.name, tool.source_type) == ("weather", "typescript")
    assert tool.json_schema is not None
    assert tool.json_schema["parameters"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where."},
            "days": {"type": "number", "description": "How far ahead."},
        },
        "required": ["city"],
    }
    given = tenant.sdk.tools.create(
        source_code="const add_numbers = (a, b) => a + b",
        source_type="js",
        json_schema=ADD_SCHEMA,
        npm_requirements=[{"name": "@scope/left-pad", "version": "^1.0.0"}],
    )
    assert (given.name, given.source_type) == ("add_numbers", "javascript")


@pytest.mark.promise("tools.update")
def test_a_change_is_partial_and_a_new_source_alone_keeps_the_schema(tenant: Tenant) -> None:
    tool = tenant.sdk.tools.create(source_code=ROLL)
    changed = tenant.sdk.tools.update(tool.id, return_char_limit=1000, tags=["a", "b"], metadata={"k": 1})
    assert (changed.return_char_limit, changed.tags, changed.metadata) == (1000, ["a", "b"], {"k": 1})
    assert changed.source_code == ROLL
    other = ROLL.replace("times: int = 1", "times: int")
    assert tenant.sdk.tools.update(tool.id, source_code=other).json_schema == ROLL_SCHEMA
    renamed = tenant.sdk.tools.update(tool.id, json_schema={**ROLL_SCHEMA, "name": "roll"})
    assert (renamed.id, renamed.name, renamed.source_code) == (tool.id, "roll", other)
    tenant.sdk.tools.create(source_code=ROLL)
    with pytest.raises(ConflictError):
        tenant.sdk.tools.update(tool.id, json_schema=ROLL_SCHEMA)
    with pytest.raises(BadRequestError):
        tenant.sdk.tools.update(tool.id, source_code="def f(:")
    assert tenant.sdk.tools.retrieve(tool.id).name == "roll"


@pytest.mark.promise("tools.update")
def test_a_built_in_tool_keeps_what_it_is(tenant: Tenant) -> None:
    tool_id = tenant.tool_id("send_message")
    with pytest.raises(BadRequestError):
        tenant.sdk.tools.update(tool_id, source_code=ROLL)
    assert tenant.sdk.tools.update(tool_id, default_requires_approval=True).default_requires_approval is True


@pytest.mark.promise("tools.delete")
def test_a_deleted_tool_is_gone_from_its_holders_and_its_name_is_free(tenant: Tenant) -> None:
    tool = tenant.sdk.tools.create(source_code=ROLL)
    agent = tenant.agent(tool_ids=[tool.id], include_base_tools=False)
    assert tenant.http.delete(f"/v1/tools/{tool.id}").json() is None
    assert tenant.state(agent["id"])["tools"] == []
    for forbidden in (tenant.sdk.tools.retrieve, tenant.sdk.tools.delete):
        with pytest.raises(NotFoundError):
            forbidden(tool.id)
    assert tenant.sdk.tools.create(source_code=ROLL).id != tool.id


@pytest.mark.promise("tools.search")
def test_tools_are_found_by_their_words(tenant: Tenant) -> None:
    tenant.sdk.tools.create(source_code=ROLL, tags=["games"])
    found = tenant.sdk.tools.search(query="rolling a dice")
    assert found[0].tool.name == "roll_dice"
    assert found[0].fts_rank == 1
    assert found[0].combined_score > 0
    assert [each.tool.name for each in tenant.sdk.tools.search(query="dice", tags=["other"])] == []
    assert [each.tool.name for each in tenant.sdk.tools.search(tool_types=["custom"])] == ["roll_dice"]
    assert len(tenant.sdk.tools.search(limit=3)) == 3


@pytest.mark.promise("tools.generate-schema")
def test_a_schema_is_generated_without_making_a_tool(tenant: Tenant) -> None:
    answer = tenant.http.post("/v1/tools/generate-schema", json={"code": ROLL})
    assert answer.json() == ROLL_SCHEMA
    assert tenant.http.post("/v1/tools/generate-schema", json={"code": "x"}).status_code == 400
    assert tenant.http.get("/v1/tools/", params={"name": "roll_dice"}).json() == []
