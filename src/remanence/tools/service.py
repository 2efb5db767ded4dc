"""Making and changing tools: what their source must be, and what may be said of them beside it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.annotations import SchemaError
from remanence.core.conform import as_object
from remanence.core.ranking import bm25, positions, rarities
from remanence.core.schema import check_name, parse_python, python_schema, schema_with_args
from remanence.core.script_schema import script_schema
from remanence.core.search_text import find_terms, parse_query
from remanence.core.tool import DEFAULT_RETURN_CHARS, Tool
from remanence.errors import AlreadyExists, BadArgument, Invalid
from remanence.kit.ids import new_tool_id
from remanence.kit.json import JsonObject
from remanence.tools import repository
from remanence.tools.schemas import BUILTIN_TYPES, ToolCreate, ToolRun, ToolSearch, ToolUpdate

_SPELLINGS = {
    "python": "python",
    "py": "python",
    "json": "python",  # what older servers answer for a Python tool
    "typescript": "typescript",
    "ts": "typescript",
    "javascript": "javascript",
    "js": "javascript",
}
_LANGUAGES = "python, typescript and javascript"


def source_language(given: str | None) -> str:
    """Raises Invalid for a language that no tool can be written in."""
    try:
        return _SPELLINGS[(given or "python").lower()]
    except KeyError:
        raise Invalid(f"Tools cannot be written in {given!r}; source_type can be {_LANGUAGES}.") from None


def derive_schema(
    source: str,
    language: str,
    *,
    args_schema: JsonObject | None = None,
    description: str | None = None,
    name: str | None = None,
) -> JsonObject:
    """The schema of a tool, from its source. Raises BadArgument, and Invalid for scripts."""
    try:
        if language == "python":
            return python_schema(source, args_schema=args_schema, description=description, name=name)
        return script_schema(source, args_schema=args_schema, description=description)
    except SchemaError as error:
        if language == "python":
            raise BadArgument(str(error)) from None
        raise Invalid(f"json_schema is missing, and cannot be read from the source: {error}") from None


def save_tool(connection: Connection, actor: Actor, body: ToolCreate) -> Tool:
    """A new tool, or the one of that name with what the body says changed. Raises Invalid, AlreadyExists."""
    language = source_language(body.source_type)
    schema = _schema_of(body, language)
    existing = repository.find_by_name(connection, actor, schema["name"])
    if existing is None:
        return repository.insert_tool(connection, _new_tool(actor, body, language, schema))
    if existing.tool_type != "custom":
        raise AlreadyExists(f"{existing.name} is the name of a built-in tool; choose another.")
    changes = _changes(body) | {
        "source_code": body.source_code,
        "source_type": language,
        "json_schema": schema,
        "description": body.description or schema.get("description"),
    }
    if body.args_json_schema is None:
        changes["args_json_schema"] = {}
    return repository.update_tool(connection, actor, existing.model_copy(update=changes))


def unsaved_tool(actor: Actor, body: ToolRun) -> Tool:
    """A tool to be run once. Raises BadArgument and Invalid."""
    language = source_language(body.source_type)
    if body.json_schema is not None:
        schema = check_schema(body.json_schema)
    else:
        schema = derive_schema(
            body.source_code,
            language,
            args_schema=body.args_json_schema,
            name=body.name if language == "python" else None,
        )
    return Tool(
        id=new_tool_id(),
        organization_id=actor.organization_id,
        name=schema["name"],
        source_code=body.source_code,
        source_type=language,
        json_schema=schema,
        pip_requirements=tuple(each.requirement() for each in body.pip_requirements or ()),
        npm_requirements=tuple(each.requirement() for each in body.npm_requirements or ()),
    )


def change_tool(connection: Connection, actor: Actor, tool_id: str, body: ToolUpdate) -> Tool:
    """A new source alone keeps the schema that it had. Raises NotFound, Invalid, AlreadyExists."""
    tool = repository.get_tool(connection, actor, tool_id)
    changes = _changes(body)
    if body.metadata_ is not None:
        changes["metadata"] = body.metadata_
    made_of = {"source_code", "source_type", "json_schema", "args_json_schema", "description", "tags"}
    if tool.tool_type in BUILTIN_TYPES and any(getattr(body, field) is not None for field in made_of):
        raise BadArgument(f"{tool.name} is built in: what it is and how it is called cannot be changed.")
    if body.source_type is not None:
        changes["source_type"] = source_language(body.source_type)
    if body.source_code is not None:
        changes["source_code"] = body.source_code
        if changes.get("source_type", tool.source_type) == "python":
            _parsed(body.source_code)
    if body.json_schema is not None:
        schema = check_schema(body.json_schema)
        changes |= {"json_schema": schema, "name": schema["name"]}
        if body.description is None:
            changes["description"] = schema.get("description") or tool.description
    elif body.args_json_schema:
        changes["json_schema"] = _with_args(tool, body.args_json_schema)
    return repository.update_tool(connection, actor, tool.model_copy(update=changes))


def _new_tool(actor: Actor, body: ToolCreate, language: str, schema: JsonObject) -> Tool:
    tool = Tool(
        id=new_tool_id(),
        organization_id=actor.organization_id,
        name=schema["name"],
        source_code=body.source_code,
        source_type=language,
        json_schema=schema,
        args_json_schema={},
        return_char_limit=DEFAULT_RETURN_CHARS,
        created_by_id=actor.user_id,
        last_updated_by_id=actor.user_id,
    )
    described = {"description": body.description or schema.get("description")}
    return tool.model_copy(update=_changes(body) | described)


def _changes(body: ToolCreate | ToolUpdate) -> dict[str, Any]:
    """The fields that are kept as they are given."""
    changes: dict[str, Any] = {
        field: value
        for field in (
            "description",
            "args_json_schema",
            "return_char_limit",
            "default_requires_approval",
            "enable_parallel_execution",
        )
        if (value := getattr(body, field)) is not None
    }
    if body.tags is not None:
        changes["tags"] = tuple(dict.fromkeys(body.tags))
    for field, packages in (
        ("pip_requirements", body.pip_requirements),
        ("npm_requirements", body.npm_requirements),
    ):
        if packages is not None:
            changes[field] = tuple(package.requirement() for package in packages)
    return changes


def _schema_of(body: ToolCreate, language: str) -> JsonObject:
    if body.json_schema is None:
        return derive_schema(
            body.source_code, language, args_schema=body.args_json_schema, description=body.description
        )
    if language == "python":
        _parsed(body.source_code)
    return check_schema(body.json_schema)


def _parsed(source: str) -> None:
    try:
        parse_python(source)
    except SchemaError as error:
        raise BadArgument(str(error)) from None


def check_schema(schema: JsonObject) -> JsonObject:
    """A whole schema as it is kept. Raises BadArgument if it does not say what a call needs."""
    name = schema.get("name")
    if not isinstance(name, str) or not isinstance(schema.get("parameters") or {}, dict):
        raise BadArgument('json_schema must look like {"name": "…", "description": "…", "parameters": {…}}.')
    parameters = as_object(schema.get("parameters")) or {"type": "object", "properties": {}}
    try:
        check_name(name)
    except SchemaError as error:
        raise BadArgument(str(error)) from None
    if not isinstance(parameters.get("properties", {}), dict):
        raise BadArgument("json_schema.parameters.properties must be an object.")
    return {**schema, "parameters": parameters}


def _with_args(tool: Tool, args: JsonObject) -> JsonObject:
    try:
        return schema_with_args(tool.name, str(tool.json_schema.get("description") or ""), args)
    except SchemaError as error:
        raise BadArgument(str(error)) from None


# Search


@dataclass(frozen=True, slots=True)
class FoundTool:
    tool: Tool
    text: str
    place: int | None
    score: float


def search_tools(connection: Connection, actor: Actor, asked: ToolSearch) -> list[FoundTool]:
    """By the words of names, descriptions, parameters and tags. Without a query: all, by name."""
    tools = [
        tool
        for tool in repository.list_every_tool(connection, actor)
        if (asked.tool_types is None or tool.tool_type in asked.tool_types)
        and (not asked.tags or set(asked.tags) & set(tool.tags))
    ]
    terms = parse_query(asked.query or "").relaxed().terms
    if not terms:
        ordered = sorted(tools, key=lambda tool: tool.name)
        return [FoundTool(tool, _words(tool), None, 0.0) for tool in ordered[: asked.limit]]
    texts = {str(tool.id): _words(tool) for tool in tools}
    counts = {id: _count(find_terms(terms, text), len(terms)) for id, text in texts.items()}
    hits = {id: found for id, found in counts.items() if any(found)}
    frequencies = [sum(1 for found in hits.values() if found[number]) for number in range(len(terms))]
    scores = bm25(hits, {id: len(texts[id]) for id in hits}, rarities(frequencies))
    places = positions(scores)
    by_id = {str(tool.id): tool for tool in tools}
    best = sorted(scores, key=lambda id: (-scores[id], by_id[id].name))
    return [FoundTool(by_id[id], texts[id], places[id], round(scores[id], 6)) for id in best[: asked.limit]]


def _count(matches: Sequence[Any], size: int) -> list[int]:
    seen = Counter(match.term for match in matches)
    return [seen[number] for number in range(size)]


def _words(tool: Tool) -> str:
    name = tool.name.replace("_", " ").replace("-", " ")
    parameters = " ".join(tool.json_schema.get("parameters", {}).get("properties", {}))
    # Twice: the name says more than anything else about a tool.
    return "\n".join((name, name, tool.description or "", parameters.replace("_", " "), " ".join(tool.tags)))
