"""Tools in TypeScript and JavaScript: the same schemas, from their own words."""

from typing import Any

import pytest

from remanence.core.schema import SchemaError
from remanence.core.script_schema import parameter_names, script_schema

STR, NUM, BOOL = ({"type": t} for t in ("string", "number", "boolean"))

DECLARED = """
interface Place { /** Which town. */ city: string; zip?: number | null }
type Mode = "fast" | "slow";
enum Color { Red = "red", Blue = "blue" }
type Tree = { leaf: Tree };
"""
PLACE = {
    "type": "object",
    "properties": {"city": STR | {"description": "Which town."}, "zip": NUM},
    "required": ["city"],
}

SIGNATURES: list[tuple[str, dict[str, Any], bool]] = [
    ("x: string", STR, True),
    ("x: number", NUM, True),
    ("x: boolean", BOOL, True),
    ("x?: string", STR, False),
    ("x: string = 'a, b'", STR, False),
    ("x: string | null", STR, False),
    ("x: string | undefined", STR, False),
    ("x: string[]", {"type": "array", "items": STR}, True),
    ("x: Array<number>", {"type": "array", "items": NUM}, True),
    ("x: (string | number)[]", {"type": "array", "items": {"anyOf": [STR, NUM]}}, True),
    ("x: Record<string, number>", {"type": "object", "additionalProperties": NUM}, True),
    ("x: { [key: string]: number }", {"type": "object", "additionalProperties": NUM}, True),
    ("x: [number, number]", {"type": "array", "items": NUM, "minItems": 2, "maxItems": 2}, True),
    ("x: 'a' | 'b'", STR | {"enum": ["a", "b"]}, True),
    ("x: 'a' | 'b' | null = null", STR | {"enum": ["a", "b"]}, False),
    ("x: 1 | 2", NUM | {"enum": [1, 2]}, True),
    ("x: Mode", STR | {"enum": ["fast", "slow"]}, True),
    ("x: Color", STR | {"enum": ["red", "blue"]}, True),
    ("x: Place", PLACE, True),
    ("x: Partial<Place>", {key: PLACE[key] for key in ("type", "properties")}, True),
    (
        "x: { y: string; z?: boolean }",
        {"type": "object", "properties": {"y": STR, "z": BOOL}, "required": ["y"]},
        True,
    ),
    ("x: any", {}, True),
    ("x: Date", STR | {"format": "date-time"}, True),
    ("{ x }: { x: string }", STR, True),
    ("{ x = 3 }: { x: number } = {}", NUM, False),
]


@pytest.mark.parametrize(
    ("parameters", "schema", "is_required"), SIGNATURES, ids=[each[0] for each in SIGNATURES]
)
@pytest.mark.parametrize(
    "form", ["export async function use(%s): Promise<string> { }", "const use = (%s) => { }"]
)
def test_a_typed_signature_becomes_a_schema(
    parameters: str, schema: dict[str, Any], is_required: bool, form: str
) -> None:
    found = script_schema(f"{DECLARED}\n/** Uses it.\n * @param x - The thing. */\n{form % parameters}")
    assert found == {
        "name": "use",
        "description": "Uses it.",
        "parameters": {
            "type": "object",
            "properties": {"x": schema | {"description": "The thing."}},
            "required": ["x"] if is_required else [],
        },
    }


def test_javascript_takes_its_types_from_the_comment() -> None:
    source = """
    /**
     * Adds two numbers.
     * @param {number} a - The first.
     * @param {Array<string>} [b] - The rest.
     */
    function add(a, b) { return a + b }
    """
    found = script_schema(source)
    assert found["description"] == "Adds two numbers."
    assert found["parameters"] == {
        "type": "object",
        "properties": {
            "a": NUM | {"description": "The first."},
            "b": {"type": "array", "items": STR, "description": "The rest."},
        },
        "required": ["a"],
    }


def test_parameters_are_known_by_name_so_that_a_call_can_order_them() -> None:
    source = (
        "export function f(a: Map<string, number>, b = [1, 2], c?: {d: string}) {}\nconst g = ({a, b}) => a"
    )
    assert parameter_names(source, "f") == ["a", "b", "c"]
    assert parameter_names(source, "g") is None
    assert parameter_names(source, "h") == []


REFUSED = {
    "const x = 1": "no named function",
    "function f(a: string) {}": "no description",
    "/** F. */ function f(a: string) {}": "`a` has no description",
    "/** F.\n * @param a - A. */ function f(a) {}": "`a` has no type",
    "/** F.\n * @param a - A. */ function f(...a: string[]) {}": "`...a`",
    "/** F.\n * @param a - A. */ function f(a: Promise<void>) {}": "`Promise`",
    "/** F.\n * @param a - A. */ function f(a: Tree) {}\ntype Tree = { leaf: Tree }": "contains itself",
    "/** F.\n * @param a - A. */ function f(a: (": "`a`",
    "/** F.\n * @param a - A. */ function f(a: " + "[" * 5000: "`a`",
    "/* " * 5000: "never closed",
}


@pytest.mark.parametrize("source", REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_expressed_is_refused(source: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        script_schema(source)
    assert REFUSED[source] in str(refusal.value)
