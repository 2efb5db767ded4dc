"""From a type in Python source to a JSON schema. Everything is read from the syntax tree: nothing is run."""

import ast
from collections.abc import Callable, Iterable
from typing import Any

from remanence.core.docstring import parse_docstring
from remanence.kit.json import JsonObject


class SchemaError(ValueError):
    """A signature that no JSON schema can express. The message names the parameter and the mend."""


class CannotExpress(Exception):
    """One type that cannot be expressed; whoever knows the parameter's name tells the user."""


_SCALARS: dict[str, JsonObject] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "NoneType": {"type": "null"},
    "Any": {},
    "object": {},
    "dict": {"type": "object"},
    "Dict": {"type": "object"},
    "Mapping": {"type": "object"},
    "MutableMapping": {"type": "object"},
    "datetime": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "time"},
    "UUID": {"type": "string", "format": "uuid"},
    "Path": {"type": "string"},
    "Decimal": {"type": "number"},
}
_LISTS = {"list", "List", "Sequence", "MutableSequence", "Iterable", "Collection"}
_SETS = {"set", "Set", "frozenset", "FrozenSet", "AbstractSet"}
_MAPPINGS = {"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict"}
_WRAPPERS = {"Required", "NotRequired", "ReadOnly", "Final", "Type"}
_JSON_TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_ENUMS = {"Enum", "IntEnum", "StrEnum"}
_CONSTRAINTS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
    "title": "title",
}


class Types:
    """The types a module declares, and what each is as JSON."""

    def __init__(self, module: ast.Module) -> None:
        self._classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
        self._aliases = dict(_aliases(module.body))
        self._imported = dict(_imported_names(module.body))
        self._open: list[str] = []

    def schema(self, node: ast.expr) -> JsonObject:
        """Raises CannotExpress."""
        match node:
            case ast.Constant(value=None):
                return {"type": "null"}
            case ast.Constant(value=str() as text):
                return self.schema(_parse_type(text))
            case ast.BinOp(op=ast.BitOr()):
                return _any_of([self.schema(option) for option in _options(node)])
            case ast.Name() | ast.Attribute():
                return self._named(_last_name(node))
            case ast.Subscript():
                return self._generic(self._original(_last_name(node.value)), node.slice)
            case _:
                raise CannotExpress(f"`{ast.unparse(node)}` is not a type")

    def without_none(self, node: ast.expr) -> tuple[ast.expr | None, bool]:
        """The type beside None, and whether None was allowed. Only None gives no type."""
        node = self._unaliased(node)
        is_union = isinstance(node, ast.Subscript) and self._original(_last_name(node.value)) in (
            "Optional",
            "Union",
        )
        if isinstance(node, ast.Subscript) and is_union:
            is_optional = self._original(_last_name(node.value)) == "Optional"
            options = _elements(node.slice)
        else:
            is_optional, options = False, _options(node)
        kept = [option for option in options if not _is_none(option)]
        has_none = is_optional or len(kept) < len(options)
        if not has_none:
            return node, False
        if not kept:
            return None, True
        rest = kept[0]
        for option in kept[1:]:
            rest = ast.BinOp(left=rest, op=ast.BitOr(), right=option)
        return rest, True

    def annotated(self, node: ast.expr) -> tuple[ast.expr, JsonObject]:
        """What `Annotated` wraps, and what its notes add to the schema."""
        node = self._unaliased(node)
        if not isinstance(node, ast.Subscript) or self._original(_last_name(node.value)) != "Annotated":
            return node, {}
        first, *notes = _elements(node.slice)
        extra: JsonObject = {}
        for note in notes:
            match note:
                case ast.Constant(value=str() as text):
                    extra["description"] = text
                case ast.Call():
                    extra |= _field_notes(note)
                case _:
                    pass
        return first, extra

    def _unaliased(self, node: ast.expr) -> ast.expr:
        for _ in range(20):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node = _parse_type(node.value)
            elif isinstance(node, ast.Name) and node.id in self._aliases and node.id not in self._classes:
                node = self._aliases[node.id]
            else:
                break
        return node

    def _original(self, name: str) -> str:
        return self._imported.get(name, name)

    def _named(self, name: str) -> JsonObject:
        if name in self._classes:
            return self._class(self._classes[name])
        if name in self._aliases:
            return self._once(name, lambda: self.schema(self._aliases[name]))
        original = self._original(name)
        if original in _SCALARS:
            return dict(_SCALARS[original])
        if original in _LISTS or original in ("tuple", "Tuple"):
            return {"type": "array", "items": {}}
        if original in _SETS:
            return {"type": "array", "items": {}, "uniqueItems": True}
        raise CannotExpress(f"`{name}` is neither a type that JSON knows nor declared in the source")

    def _generic(self, name: str, inner: ast.expr) -> JsonObject:
        items = _elements(inner)
        if name == "Optional":
            return _any_of([self.schema(items[0]), {"type": "null"}])
        if name == "Union":
            return _any_of([self.schema(item) for item in items])
        if name == "Literal":
            return _enum([_constant(item) for item in self._literals(items)])
        if name == "Annotated":
            return self.schema(items[0]) | self.annotated(_subscript(name, inner))[1]
        if name in _WRAPPERS:
            return self.schema(items[0])
        if name in _LISTS:
            return {"type": "array", "items": self.schema(items[0])}
        if name in _SETS:
            return {"type": "array", "items": self.schema(items[0]), "uniqueItems": True}
        if name in ("tuple", "Tuple"):
            return self._tuple(items)
        if name in _MAPPINGS:
            return self._mapping(items)
        raise CannotExpress(f"`{name}[…]` has no form in JSON")

    def _literals(self, items: Iterable[ast.expr]) -> Iterable[ast.expr]:
        for item in items:
            if isinstance(item, ast.Subscript) and self._original(_last_name(item.value)) == "Literal":
                yield from self._literals(_elements(item.slice))
            else:
                yield item

    def _tuple(self, items: list[ast.expr]) -> JsonObject:
        if len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is ...:
            return {"type": "array", "items": self.schema(items[0])}
        if not items:
            return {"type": "array", "items": {}, "maxItems": 0}
        return {
            "type": "array",
            "items": _any_of([self.schema(item) for item in items]),
            "minItems": len(items),
            "maxItems": len(items),
        }

    def _mapping(self, items: list[ast.expr]) -> JsonObject:
        key = self.schema(items[0])
        if key.get("type") != "string":
            raise CannotExpress("the keys of a JSON object are texts: use `Dict[str, …]`")
        return {"type": "object", "additionalProperties": self.schema(items[1]) if len(items) > 1 else {}}

    def _class(self, node: ast.ClassDef) -> JsonObject:
        bases = self._bases(node)
        if bases & _ENUMS:
            return _enum(_enum_values(node, is_text="StrEnum" in bases))
        is_data = "dataclass" in {_last_name(each) for each in node.decorator_list}
        if is_data or bases & {"BaseModel", "TypedDict"}:
            return self._once(node.name, lambda: self._object(node, bases))
        raise CannotExpress(
            f"`{node.name}` is a plain class: make it a dataclass, a TypedDict or a BaseModel"
        )

    def _object(self, node: ast.ClassDef, bases: set[str]) -> JsonObject:
        properties: JsonObject = {}
        required: dict[str, bool] = {}
        is_total = not any(
            word.arg == "total" and isinstance(word.value, ast.Constant) and word.value.value is False
            for word in node.keywords
        )
        for base in node.bases:  # what is inherited comes first
            if isinstance(base, ast.Name) and base.id in self._classes:
                inherited = self._class(self._classes[base.id])
                properties |= inherited.get("properties", {})
                required |= dict.fromkeys(inherited.get("required", ()), True)
        documented = parse_docstring(ast.get_docstring(node) or "").parameters
        for statement in node.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            name = statement.target.id
            kind, extra = self.annotated(statement.annotation)
            outer = self._original(_last_name(kind.value)) if isinstance(kind, ast.Subscript) else ""
            if outer == "ClassVar" or name == "model_config" or name.startswith("_"):
                continue
            schema = self.schema(kind) | extra
            if isinstance(statement.value, ast.Call):
                schema |= _field_notes(statement.value)
            if "description" not in schema and name in documented:
                schema["description"] = documented[name]
            properties[name] = schema
            has_value = statement.value is not None and _has_default(statement.value)
            required[name] = outer == "Required" or (
                not has_value and outer != "NotRequired" and (is_total or "TypedDict" not in bases)
            )
        schema: JsonObject = {"type": "object", "properties": properties}
        if needed := [name for name in properties if required.get(name)]:
            schema["required"] = needed
        return schema

    def _bases(self, node: ast.ClassDef) -> set[str]:
        found: set[str] = set()
        for base in node.bases:
            name = _last_name(base)
            found.add(self._original(name))
            if name in self._classes and self._classes[name] is not node:
                found |= self._once(name, lambda name=name: self._bases(self._classes[name]))
        return found

    def _once(self, name: str, read: Callable[[], Any]) -> Any:
        if name in self._open:
            raise CannotExpress(f"`{name}` contains itself: use `dict` for the inner level")
        self._open.append(name)
        try:
            return read()
        finally:
            self._open.pop()


def _parse_type(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise CannotExpress(f"`{text}` is not a type") from None


def _aliases(body: list[ast.stmt]) -> Iterable[tuple[str, ast.expr]]:
    """`Vector = List[float]` and `UserId = NewType("UserId", str)`."""
    for statement in body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and _last_name(statement.annotation) == "TypeAlias":
            target, value = statement.target, statement.value
        else:
            continue
        if not isinstance(target, ast.Name) or value is None:
            continue
        if isinstance(statement, ast.AnnAssign):
            yield target.id, value
            continue
        if isinstance(value, ast.Call) and _last_name(value.func) == "NewType" and len(value.args) == 2:
            yield target.id, value.args[1]
        elif isinstance(value, ast.Subscript | ast.Name | ast.Attribute | ast.BinOp):
            yield target.id, value


def _imported_names(body: list[ast.stmt]) -> Iterable[tuple[str, str]]:
    for statement in body:
        if isinstance(statement, ast.ImportFrom):
            yield from ((name.asname, name.name) for name in statement.names if name.asname)


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Call():
            return _last_name(node.func)
        case ast.Subscript():
            return _last_name(node.value)
        case _:
            return ""


def _elements(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def _subscript(name: str, inner: ast.expr) -> ast.Subscript:
    return ast.Subscript(value=ast.Name(id=name), slice=inner)


def _options(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_options(node.left), *_options(node.right)]
    return [node]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _any_of(schemas: list[JsonObject]) -> JsonObject:
    flat: list[JsonObject] = []
    for schema in schemas:
        options = schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
        flat += [option for option in options if option not in flat]
    if {} in flat:
        return {}
    return flat[0] if len(flat) == 1 else {"anyOf": flat}


def _constant(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        raise CannotExpress(f"`{ast.unparse(node)}` is not a plain value") from None
    if value is not None and not isinstance(value, str | int | float | bool):
        raise CannotExpress(f"`{ast.unparse(node)}` is neither text nor number")
    return value


def _enum(values: list[Any]) -> JsonObject:
    if not values:
        raise CannotExpress("an enumeration needs at least one value")
    kinds = {
        next((name for kind, name in _JSON_TYPES.items() if type(value) is kind), "null") for value in values
    }
    schema: JsonObject = {"type": kinds.pop()} if len(kinds) == 1 else {}
    return schema | {"enum": values}


def _enum_values(node: ast.ClassDef, *, is_text: bool) -> list[Any]:
    values: list[Any] = []
    for statement in node.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name = statement.targets[0].id
        if name.startswith("_"):
            continue
        if isinstance(statement.value, ast.Call) and _last_name(statement.value) == "auto":
            values.append(name.lower() if is_text else len(values) + 1)
        else:
            values.append(_constant(statement.value))
    return values


def _has_default(value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and _last_name(value) in ("Field", "field"):
        first = value.args[0] if value.args else None
        given = {word.arg for word in value.keywords} & {"default", "default_factory"}
        return bool(given) or (first is not None and not _is_ellipsis(first))
    return not _is_ellipsis(value)


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _field_notes(call: ast.Call) -> JsonObject:
    """What `Field(…)` says beside its default."""
    notes: JsonObject = {}
    for word in call.keywords:
        try:
            value: Any = ast.literal_eval(word.value)
        except ValueError:
            continue
        if word.arg == "description" and isinstance(value, str):
            notes["description"] = value
        elif word.arg in _CONSTRAINTS and isinstance(value, str | int | float):
            notes[_CONSTRAINTS[word.arg]] = value
    return notes
