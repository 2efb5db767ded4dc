"""The JSON schema of a tool in TypeScript or JavaScript, from its signature and its JSDoc comment."""

from dataclasses import dataclass

from remanence.core.annotations import CannotExpress, SchemaError
from remanence.core.schema import check_name, schema_with_args
from remanence.core.script_types import Doc, Token, TypeReader, parse_jsdoc, tokens_of, without_null
from remanence.kit.json import JsonObject

_HOW = "give the tool a `json_schema`"


@dataclass(frozen=True, slots=True)
class ScriptFunction:
    name: str
    place: int
    """Of the bracket before its parameters."""
    doc: str


def script_schema(
    source: str, *, args_schema: JsonObject | None = None, description: str | None = None
) -> JsonObject:
    """`{name, description, parameters}` of the last function at the top level. Raises SchemaError."""
    try:
        tokens = tokens_of(source)
    except CannotExpress as reason:
        raise SchemaError(f"The source cannot be read: {reason}.") from None
    function = _last_function(tokens)
    check_name(function.name)
    doc = parse_jsdoc(function.doc)
    told = doc.description or description
    if not told:
        raise SchemaError(
            f"`{function.name}` has no description: write a `/** … */` comment before it, or {_HOW}."
        )
    if args_schema:
        return schema_with_args(function.name, told, args_schema)
    reader = TypeReader(tokens)
    reader.at = function.place
    return {"name": function.name, "description": told, "parameters": _parameters(reader, doc)}


def parameter_names(source: str, name: str) -> list[str] | None:
    """What the parameters of a function are called, in order; None if it takes one object apart."""
    tokens = tokens_of(source)
    function = next((each for each in reversed(_functions(tokens)) if each.name == name), None)
    if function is None:
        return []
    reader = TypeReader(tokens)
    reader.at = function.place + 1
    names: list[str] = []
    while reader.peek() not in (")", ""):
        if reader.peek() == "{":
            return None
        token = reader.take()
        if token.kind == "word":
            names.append(token.text)
        reader.skip_value()
        reader.skip(",")
    return names


def _parameters(reader: TypeReader, doc: Doc) -> JsonObject:
    reader.expect("(")
    properties: JsonObject = {}
    required: list[str] = []
    while not reader.skip(")"):
        if reader.peek() == "{":
            _take_apart(reader, doc, properties, required)
        else:
            name = reader.take().text
            if name == "...":
                raise SchemaError(
                    f"Parameter `...{reader.peek()}` can be anything: take one array, or {_HOW}."
                )
            is_optional = reader.skip("?")
            schema, may_be_missing = _typed(reader, name, doc)
            if reader.skip("="):
                is_optional = True
                reader.skip_value()
            _add(name, schema, doc, properties)
            if not (is_optional or may_be_missing or name in doc.optional):
                required.append(name)
        reader.skip(",")
    return {"type": "object", "properties": properties, "required": required}


def _typed(reader: TypeReader, name: str, doc: Doc) -> tuple[JsonObject, bool]:
    try:
        if reader.skip(":"):
            return without_null(reader.read())
        if name in doc.types:
            return without_null(TypeReader(tokens_of(doc.types[name])).read())
    except (CannotExpress, ValueError, RecursionError) as reason:
        raise SchemaError(
            f"The type of parameter `{name}` cannot be told to a model: {reason}. Use string, number, "
            f"boolean, arrays, object types or unions of literals, or {_HOW}."
        ) from None
    raise SchemaError(
        f"Parameter `{name}` has no type: write `{name}: string`, or `@param {{string}} {name}` in the "
        f"comment before the function, or {_HOW}."
    )


def _take_apart(reader: TypeReader, doc: Doc, properties: JsonObject, required: list[str]) -> None:
    """`({ city, days = 3 }: { city: string; days?: number })`: the members are the parameters."""
    reader.expect("{")
    names: list[str] = []
    with_default: set[str] = set()
    while not reader.skip("}"):
        token = reader.take()
        if token.kind == "word":
            names.append(token.text)
        if reader.peek() == "=":
            with_default.add(token.text)
        reader.skip_value()
        reader.skip(",")
    if reader.skip(":"):
        try:
            members, _ = without_null(reader.read())
        except (CannotExpress, ValueError, RecursionError) as reason:
            raise SchemaError(f"The parameters cannot be told to a model: {reason}; {_HOW}.") from None
    else:
        members = _members_from_doc(names, doc)
    if reader.skip("="):
        reader.skip_value()
    known: JsonObject = members.get("properties", {})
    for name in names:
        if name not in known:
            raise SchemaError(f"Parameter `{name}` has no type: declare it, or {_HOW}.")
        _add(name, known[name], doc, properties)
        if name in members.get("required", ()) and name not in with_default:
            required.append(name)


def _members_from_doc(names: list[str], doc: Doc) -> JsonObject:
    missing = TypeReader([])
    read = {name: _typed(missing, name, doc) for name in names}
    needed = [name for name, (_, can_miss) in read.items() if not can_miss and name not in doc.optional]
    return {"properties": {name: schema for name, (schema, _) in read.items()}, "required": needed}


def _add(name: str, schema: JsonObject, doc: Doc, properties: JsonObject) -> None:
    description = doc.parameters.get(name) or schema.get("description")
    if not description:
        raise SchemaError(
            f"Parameter `{name}` has no description: add `@param {name} - …` to the comment before the function."
        )
    properties[name] = schema | {"description": description}


def _last_function(tokens: list[Token]) -> ScriptFunction:
    found = _functions(tokens)
    if not found:
        raise SchemaError(
            "The source has no named function at its top level; the last one there is the tool."
        )
    return found[-1]


def _functions(tokens: list[Token]) -> list[ScriptFunction]:
    """`function name(…)`, and `const name = (…) =>` or `= function (…)`, exported or not."""
    found: list[ScriptFunction] = []
    depth = 0
    for place, token in enumerate(tokens):
        if depth == 0 and token.text == "function" and _text(tokens, place + 1).isidentifier():
            opening = _opening(tokens, place + 2)
            if opening is not None:
                found.append(ScriptFunction(_text(tokens, place + 1), opening, _doc_before(tokens, place)))
        elif depth == 0 and token.text in ("const", "let", "var"):
            opening = _assigned_function(tokens, place)
            if opening is not None:
                found.append(ScriptFunction(_text(tokens, place + 1), opening, _doc_before(tokens, place)))
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
    return found


def _assigned_function(tokens: list[Token], place: int) -> int | None:
    if _text(tokens, place + 2) != "=":
        return None
    at = place + 3
    at += _text(tokens, at) == "async"
    if _text(tokens, at) == "function":
        return _opening(tokens, at + 1)
    if _text(tokens, at) != "(":
        return None
    depth = 0
    for end in range(at, len(tokens)):
        depth += (tokens[end].text == "(") - (tokens[end].text == ")")
        if depth == 0:
            return at if _text(tokens, end + 1) in ("=>", ":") else None
    return None


def _opening(tokens: list[Token], start: int) -> int | None:
    return next((at for at in range(start, min(start + 40, len(tokens))) if tokens[at].text == "("), None)


def _doc_before(tokens: list[Token], place: int) -> str:
    """The comment may stand before `export`, `default` or `async`."""
    for at in range(place, max(place - 4, -1), -1):
        if tokens[at].doc:
            return tokens[at].doc
        if _text(tokens, at - 1) not in ("export", "default", "async"):
            break
    return ""


def _text(tokens: list[Token], place: int) -> str:
    return tokens[place].text if 0 <= place < len(tokens) else ""
