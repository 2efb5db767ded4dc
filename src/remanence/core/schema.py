"""From a tool's source to the JSON schema that models call it by. The source is parsed, never run."""

import ast
import re
from collections.abc import Iterator, Mapping

from remanence.core.annotations import CannotExpress, SchemaError, Types
from remanence.core.docstring import parse_docstring
from remanence.kit.json import JsonObject

__all__ = ["SchemaError", "python_schema", "schema_with_args"]

MAX_NAME_CHARS = 48
_GIVEN_BY_SERVER = {"self", "agent_state"}
"""Parameters that the server fills in, so the model never sees them."""
_HOW = "give the tool an `args_json_schema`"


def python_schema(
    source: str,
    *,
    args_schema: JsonObject | None = None,
    description: str | None = None,
    name: str | None = None,
) -> JsonObject:
    """`{name, description, parameters}` of the last function, or of the named one. Raises SchemaError.

    Given an `args_schema` (as pydantic writes it), the parameters are read from there instead.
    """
    module = parse_python(source)
    function = _tool_function(module, name)
    check_name(function.name)
    text = ast.get_docstring(function, clean=False)
    documented = parse_docstring(text or "")
    told = documented.description or description
    if not told:
        raise SchemaError(
            f"`{function.name}` has no docstring: describe in one what it does, with an `Args:` section "
            "for its parameters, so that a model knows when and how to call it."
        )
    if args_schema:
        return schema_with_args(function.name, told, args_schema)
    parameters = _parameters(function, Types(module), documented.parameters)
    return {"name": function.name, "description": told, "parameters": parameters}


def schema_with_args(name: str, description: str, args: JsonObject) -> JsonObject:
    """Raises SchemaError unless the arguments are an object's schema."""
    properties = args.get("properties")
    if not isinstance(properties, dict):
        raise SchemaError("`args_json_schema` must be the schema of an object, with `properties`.")
    parameters: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": list(args.get("required") or ()),
    }
    for key in ("$defs", "definitions", "additionalProperties"):
        if key in args:
            parameters[key] = args[key]
    return {"name": name, "description": description, "parameters": parameters}


def parse_python(source: str) -> ast.Module:
    """Raises SchemaError."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        raise SchemaError(f"The source is not valid Python{line}: {text}.") from None


def check_name(name: str) -> None:
    """Raises SchemaError for a name that providers would refuse."""
    if not re.fullmatch(rf"[A-Za-z0-9_-]{{1,{MAX_NAME_CHARS}}}", name):
        raise SchemaError(
            f"{name!r} cannot be the name of a tool: at most {MAX_NAME_CHARS} letters, digits, _ and -."
        )


def _tool_function(module: ast.Module, name: str | None) -> ast.FunctionDef | ast.AsyncFunctionDef:
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    if name is not None:
        functions = [node for node in functions if node.name == name]
    if not functions:
        which = f"function `{name}`" if name else "function"
        raise SchemaError(f"The source has no {which} at its top level; the last one there is the tool.")
    return functions[-1]


def _parameters(
    function: ast.FunctionDef | ast.AsyncFunctionDef, types: Types, documented: Mapping[str, str]
) -> JsonObject:
    properties: JsonObject = {}
    required: list[str] = []
    for parameter, has_default in _list_parameters(function):
        name = parameter.arg
        if name in _GIVEN_BY_SERVER:
            continue
        schema, may_be_missing = _parameter_schema(parameter, types)
        description = schema.pop("description", None) or documented.get(name)
        if not description:
            raise SchemaError(
                f"Parameter `{name}` has no description: add `{name}: …` to the `Args:` section of the "
                f"docstring of `{function.name}`."
            )
        properties[name] = schema | {"description": description}
        if not has_default and not may_be_missing:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _list_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.arg, bool]]:
    """Each parameter, and whether it has a default."""
    spec = function.args
    for gathering, stars in ((spec.vararg, "*"), (spec.kwarg, "**")):
        if gathering is not None:
            raise SchemaError(
                f"Parameter `{stars}{gathering.arg}` can be anything: name each parameter, or take one "
                "`dict` or `list`."
            )
    plain = [*spec.posonlyargs, *spec.args]
    without = len(plain) - len(spec.defaults)
    for position, parameter in enumerate(plain):
        yield parameter, position >= without
    for parameter, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        yield parameter, default is not None


def _parameter_schema(parameter: ast.arg, types: Types) -> tuple[JsonObject, bool]:
    """The schema, and whether the call may leave the parameter out although it has no default."""
    name = parameter.arg
    if parameter.annotation is None:
        raise SchemaError(f"Parameter `{name}` has no type: write `{name}: str`, or {_HOW}.")
    try:
        kind, extra = types.annotated(parameter.annotation)
        inner, is_optional = types.without_none(kind)
        if inner is None:
            raise CannotExpress("None alone says nothing")
        inner, more = types.annotated(inner)
        return types.schema(inner) | more | extra, is_optional
    except (CannotExpress, RecursionError) as reason:
        raise SchemaError(
            f"The type of parameter `{name}` cannot be told to a model: {reason}. Use str, int, float, "
            f"bool, list, dict, Literal, an Enum, a dataclass, a TypedDict or a pydantic model, or {_HOW}."
        ) from None
