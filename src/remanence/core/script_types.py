"""TypeScript types and JSDoc, read into JSON schemas. As much of the language as parameters are written in."""

import re
from dataclasses import dataclass, field
from itertools import pairwise

from remanence.core.annotations import CannotExpress
from remanence.kit.json import JsonObject

_TOKEN = re.compile(
    r"""(?P<doc>/\*\*.*?\*/)|(?P<comment>/\*.*?\*/|//[^\n]*)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)
    |(?P<number>\d[\d_]*(?:\.\d+)?)|(?P<word>[A-Za-z_$][\w$]*)|(?P<sign>=>|\.\.\.|\S)|(?P<space>\s+)""",
    re.VERBOSE | re.DOTALL,
)
_NAMED: dict[str, JsonObject] = {
    "string": {"type": "string"},
    "String": {"type": "string"},
    "number": {"type": "number"},
    "Number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "Boolean": {"type": "boolean"},
    "bool": {"type": "boolean"},
    "null": {"type": "null"},
    "undefined": {"type": "null"},
    "void": {"type": "null"},
    "any": {},
    "unknown": {},
    "object": {"type": "object"},
    "Object": {"type": "object"},
    "Date": {"type": "string", "format": "date-time"},
}
_OPENING, _CLOSING = ("(", "[", "{", "<"), (")", "]", "}", ">")
_MAX_OPEN_COMMENTS = 100


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    doc: str = ""
    """The JSDoc comment right before it."""


def tokens_of(source: str) -> list[Token]:
    """Raises CannotExpress for what is surely no program, and would take long to find out."""
    if source.count("/*", source.rfind("*/") + 1) > _MAX_OPEN_COMMENTS:
        raise CannotExpress("a comment is never closed")
    found: list[Token] = []
    doc = ""
    for match in _TOKEN.finditer(source):
        kind = match.lastgroup or ""
        if kind == "doc":
            doc = match[0]
        elif kind not in ("comment", "space"):
            found.append(Token(kind, match[0], doc))
            doc = ""
    return found


@dataclass(frozen=True, slots=True)
class Doc:
    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    types: dict[str, str] = field(default_factory=dict[str, str])
    optional: frozenset[str] = frozenset()


def parse_jsdoc(comment: str) -> Doc:
    """`@param {type} [name] - text`; `args.name` counts as `name`."""
    lines = [
        re.sub(r"^\s*\*? ?", "", line) for line in comment.removeprefix("/**").removesuffix("*/").splitlines()
    ]
    description, *tags = re.split(r"(?:^|\n)\s*@", "\n".join(lines))
    parameters: dict[str, str] = {}
    types: dict[str, str] = {}
    optional: set[str] = set()
    for tag in tags:
        found = re.fullmatch(
            r"param(?:eter)?\s+(?:\{(?P<type>.*?)\}\s+)?(?P<name>\[[^\]]*\]|[\w$.]+)\s*(?:[-:–]\s*)?(?P<text>.*)",
            tag.strip(),
            re.DOTALL,
        )
        if found is None:
            continue
        name = found["name"].strip("[]").split("=")[0].strip().rpartition(".")[2]
        parameters[name] = " ".join(found["text"].split())
        if found["type"]:
            types[name] = found["type"].removesuffix("=")
        if found["name"].startswith("[") or (found["type"] or "").endswith("="):
            optional.add(name)
    return Doc(description.strip(), parameters, types, frozenset(optional))


class TypeReader:
    """Reads one type at a time from a list of tokens; interfaces, aliases and enums of the source are known."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self._declared = _declarations(tokens)
        self._open: list[int] = []

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place].text if place < len(self.tokens) else ""

    def take(self) -> Token:
        if self.at >= len(self.tokens):
            raise CannotExpress("the type is cut off")
        self.at += 1
        return self.tokens[self.at - 1]

    def skip(self, text: str) -> bool:
        if self.peek() != text:
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> None:
        if not self.skip(text):
            raise CannotExpress(f"`{text}` was expected before `{self.peek()}`")

    def read(self) -> JsonObject:
        """A type, with the alternatives of a union. Raises CannotExpress."""
        self.skip("|")
        options = [self._postfixed()]
        while self.skip("|"):
            options.append(self._postfixed())
        return _union(options)

    def _postfixed(self) -> JsonObject:
        schema = self._primary()
        while self.peek() == "[" and self.peek(1) == "]":
            self.at += 2
            schema = {"type": "array", "items": schema}
        return schema

    def _primary(self) -> JsonObject:
        token = self.take()
        match token.kind, token.text:
            case "text", text:
                return {"type": "string", "enum": [text[1:-1]]}
            case "number", text:
                value = float(text.replace("_", ""))
                return {"type": "number", "enum": [int(value) if value.is_integer() else value]}
            case _, "true" | "false":
                return {"type": "boolean", "enum": [token.text == "true"]}
            case _, "readonly":
                return self._postfixed()
            case _, "(":
                schema = self.read()
                self.expect(")")
                return schema
            case _, "{":
                return self.read_members("}")
            case _, "[":
                return self._tuple()
            case "word", name:
                return self._named(name)
            case _:
                raise CannotExpress(f"`{token.text}` does not begin a type")

    def _tuple(self) -> JsonObject:
        items: list[JsonObject] = []
        while not self.skip("]"):
            items.append(self.read())
            self.skip(",")
        return {"type": "array", "items": _union(items), "minItems": len(items), "maxItems": len(items)}

    def _named(self, name: str) -> JsonObject:
        arguments: list[JsonObject] = []
        if self.skip("<"):
            while not self.skip(">"):
                arguments.append(self.read())
                self.skip(",")
        if name in ("Array", "ReadonlyArray", "Set") and arguments:
            return {"type": "array", "items": arguments[0]}
        if name in ("Record", "Map") and len(arguments) == 2:
            return {"type": "object", "additionalProperties": arguments[1]}
        if name == "Partial" and arguments:
            return {key: value for key, value in arguments[0].items() if key != "required"}
        if name in ("Required", "Readonly") and arguments:
            return arguments[0]
        if name in _NAMED:
            return dict(_NAMED[name])
        if name in self._declared:
            return self._follow(name)
        raise CannotExpress(f"`{name}` is neither a type that JSON knows nor declared in the source")

    def _follow(self, name: str) -> JsonObject:
        place = self._declared[name]
        if place in self._open:
            raise CannotExpress(f"`{name}` contains itself: use `object` for the inner level")
        self._open.append(place)
        back, self.at = self.at, place
        try:
            match self.tokens[place - 1].text:
                case "enum":
                    return self._enum()
                case "interface":
                    while self.peek() != "{":
                        self.take()
                    self.take()
                    return self.read_members("}")
                case _:
                    self.take()
                    self.expect("=")
                    return self.read()
        finally:
            self._open.pop()
            self.at = back

    def _enum(self) -> JsonObject:
        self.take()
        self.expect("{")
        values: list[object] = []
        while not self.skip("}"):
            self.take()
            if self.skip("="):
                token = self.take()
                values.append(token.text[1:-1] if token.kind == "text" else float(token.text))
            else:
                values.append(len(values))
            self.skip(",")
        kind = "string" if all(isinstance(value, str) for value in values) else "number"
        return {"type": kind, "enum": values}

    def read_members(self, end: str) -> JsonObject:
        """The members of an object type, up to its closing bracket."""
        properties: JsonObject = {}
        required: list[str] = []
        while not self.skip(end):
            token = self.take()
            if token.text == "readonly" and self.peek() not in ("?", ":"):
                token = self.take()
            if token.text == "[":  # an index signature: any further keys
                while self.take().text != "]":
                    pass
                self.expect(":")
                return {"type": "object", "additionalProperties": self._rest_of_index(end)}
            is_optional = self.skip("?")
            self.expect(":")
            schema, can_be_none = without_null(self.read())
            if token.doc and (told := parse_jsdoc(token.doc).description):
                schema["description"] = told
            name = token.text[1:-1] if token.kind == "text" else token.text
            properties[name] = schema
            if not is_optional and not can_be_none:
                required.append(name)
            if not self.skip(";"):
                self.skip(",")
        schema: JsonObject = {"type": "object", "properties": properties}
        return schema | {"required": required} if required else schema

    def _rest_of_index(self, end: str) -> JsonObject:
        schema = self.read()
        self.skip(";")
        self.expect(end)
        return schema

    def skip_value(self) -> None:
        """Passes over a default value, up to the comma or bracket after it."""
        depth = 0
        while self.at < len(self.tokens):
            text = self.peek()
            if depth == 0 and text in (",", ")", "}"):
                return
            depth += (text in _OPENING) - (text in _CLOSING)
            self.at += 1


def without_null(schema: JsonObject) -> tuple[JsonObject, bool]:
    """The schema without its null alternative, and whether there was one."""
    options: list[JsonObject] = schema.get("anyOf", [])
    kept = [option for option in options if option != {"type": "null"}]
    if len(kept) == len(options):
        return schema, schema == {"type": "null"}
    return _union(kept), True


def _union(options: list[JsonObject]) -> JsonObject:
    kinds = {option.get("type") for option in options}
    if len(options) > 1 and len(kinds) == 1 and all(set(option) == {"type", "enum"} for option in options):
        return {"type": kinds.pop(), "enum": [value for option in options for value in option["enum"]]}
    literals = [option for option in options if set(option) == {"type", "enum"}]
    if len(literals) > 1 and len(literals) < len(options):
        rest = [option for option in options if option not in literals]
        options = [_union(literals), *rest] if len({each["type"] for each in literals}) == 1 else options
    unique: list[JsonObject] = []
    for option in options:
        if option not in unique:
            unique.append(option)
    if {} in unique or not unique:
        return {}
    return unique[0] if len(unique) == 1 else {"anyOf": unique}


def _declarations(tokens: list[Token]) -> dict[str, int]:
    """Where interfaces, aliases and enums are named."""
    return {
        after.text: place + 1
        for place, (token, after) in enumerate(pairwise(tokens))
        if token.text in ("interface", "type", "enum") and after.kind == "word"
    }
