"""Signatures of Python tools and the JSON schemas that models see of them."""

from typing import Any

import pytest

from remanence.core.schema import SchemaError, python_schema

STR, INT, NUM, BOOL, NULL = ({"type": t} for t in ("string", "integer", "number", "boolean", "null"))
OBJ: dict[str, Any] = {"type": "object"}


def arr(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def obj(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def any_of(*options: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": list(options)}


IMPORTS = """
import datetime
import enum
import typing as t
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum, auto
from pathlib import Path
from typing import *
from typing import List as Several
from uuid import UUID
from pydantic import BaseModel, Field
"""

DECLARED = """
class Color(str, Enum):
    RED = "red"
    BLUE = "blue"

class Size(IntEnum):
    S = 1
    L = 2

class Mood(StrEnum):
    CALM = auto()
    WILD = auto()

class Point(TypedDict):
    x: float
    y: float

class Query(TypedDict, total=False):
    text: Required[str]
    limit: int

class Filter(TypedDict):
    key: str
    value: NotRequired[int]

@dataclass
class Address:
    \"\"\"Where.

    Attributes:
        city: The town.
    \"\"\"
    city: str
    zip_code: Optional[str] = None
    lines: List[str] = field(default_factory=list)

class Item(BaseModel):
    name: str = Field(..., description="What it is called.")
    price: float = Field(gt=0, description="In euros.")
    tags: list[str] = []

class Order(BaseModel):
    items: List[Item]
    address: Address
    note: str | None = Field(None, description="A word.")

class Gift(Item):
    model_config = {}
    ribbon: Color

Vector = List[float]
UserId = NewType("UserId", str)
Flag: TypeAlias = "bool | None"
"""

ITEM = obj(
    ["name", "price"],
    name=STR | {"description": "What it is called."},
    price=NUM | {"exclusiveMinimum": 0, "description": "In euros."},
    tags=arr(STR),
)
ADDRESS = obj(
    ["city"],
    city=STR | {"description": "The town."},
    zip_code=any_of(STR, NULL),
    lines=arr(STR),
)

# the parameter as it is written, its schema without the description, whether it is required
SIGNATURES: list[tuple[str, dict[str, Any], bool]] = [
    ("x: str", STR, True),
    ("x: int", INT, True),
    ("x: float", NUM, True),
    ("x: bool", BOOL, True),
    ("x: dict", OBJ, True),
    ("x: Dict", OBJ, True),
    ("x: list", arr({}), True),
    ("x: tuple", arr({}), True),
    ("x: set", arr({}, uniqueItems=True), True),
    ("x: Any", {}, True),
    ("x: t.Any", {}, True),
    ("x: 'int'", INT, True),
    ("x: str = 'a'", STR, False),
    ("x: int = 5", INT, False),
    ("*, x: int", INT, True),
    ("*, x: int = 5", INT, False),
    ("x: int, /", INT, True),
    ("x: Optional[int]", INT, False),
    ("x: Optional[int] = None", INT, False),
    ("x: int | None", INT, False),
    ("x: None | int = None", INT, False),
    ("x: 'int | None' = None", INT, False),
    ("x: t.Optional[str]", STR, False),
    ("x: Union[int, str]", any_of(INT, STR), True),
    ("x: int | str", any_of(INT, STR), True),
    ("x: Union[int, str, None]", any_of(INT, STR), False),
    ("x: Union[int, Union[str, bool]]", any_of(INT, STR, BOOL), True),
    ("x: Union[int, int]", INT, True),
    ("x: Optional[Union[int, str]]", any_of(INT, STR), False),
    ("x: Union[int, Any]", {}, True),
    ("x: List[str]", arr(STR), True),
    ("x: list[int]", arr(INT), True),
    ("x: Several[int]", arr(INT), True),
    ("x: t.List[List[float]]", arr(arr(NUM)), True),
    ("x: Sequence[str]", arr(STR), True),
    ("x: Set[str]", arr(STR, uniqueItems=True), True),
    ("x: Optional[List[str]] = None", arr(STR), False),
    ("x: List[Optional[int]]", arr(any_of(INT, NULL)), True),
    ("x: list[int | str]", arr(any_of(INT, STR)), True),
    ("x: Dict[str, int]", OBJ | {"additionalProperties": INT}, True),
    ("x: dict[str, list[str]]", OBJ | {"additionalProperties": arr(STR)}, True),
    ("x: Dict[str, Any]", OBJ | {"additionalProperties": {}}, True),
    (
        "x: Mapping[str, Dict[str, bool]]",
        OBJ | {"additionalProperties": OBJ | {"additionalProperties": BOOL}},
        True,
    ),
    ("x: Tuple[int, ...]", arr(INT), True),
    ("x: Tuple[int, int]", arr(INT, minItems=2, maxItems=2), True),
    ("x: tuple[str, float]", arr(any_of(STR, NUM), minItems=2, maxItems=2), True),
    ("x: Literal['a', 'b']", STR | {"enum": ["a", "b"]}, True),
    ("x: Literal['a', 'b'] = 'a'", STR | {"enum": ["a", "b"]}, False),
    ("x: Literal[1, 2]", INT | {"enum": [1, 2]}, True),
    ("x: Literal[True]", BOOL | {"enum": [True]}, True),
    ("x: Literal['a', 1]", {"enum": ["a", 1]}, True),
    ("x: Literal[-1]", INT | {"enum": [-1]}, True),
    ("x: Optional[Literal['a']]", STR | {"enum": ["a"]}, False),
    ("x: Literal['a', Literal['b']]", STR | {"enum": ["a", "b"]}, True),
    ("x: List[Literal['a', 'b']]", arr(STR | {"enum": ["a", "b"]}), True),
    ("x: Color", STR | {"enum": ["red", "blue"]}, True),
    ("x: Color = Color.RED", STR | {"enum": ["red", "blue"]}, False),
    ("x: Size", INT | {"enum": [1, 2]}, True),
    ("x: Mood", STR | {"enum": ["calm", "wild"]}, True),
    ("x: List[Color]", arr(STR | {"enum": ["red", "blue"]}), True),
    ("x: Point", obj(["x", "y"], x=NUM, y=NUM), True),
    ("x: Query", obj(["text"], text=STR, limit=INT), True),
    ("x: Filter", obj(["key"], key=STR, value=INT), True),
    ("x: Address", ADDRESS, True),
    ("x: Item", ITEM, True),
    ("x: Optional[Item] = None", ITEM, False),
    ("x: Dict[str, Item]", OBJ | {"additionalProperties": ITEM}, True),
    (
        "x: Order",
        obj(
            ["items", "address"],
            items=arr(ITEM),
            address=ADDRESS,
            note=any_of(STR, NULL) | {"description": "A word."},
        ),
        True,
    ),
    (
        "x: Gift",
        obj(["name", "price", "ribbon"], **ITEM["properties"], ribbon=STR | {"enum": ["red", "blue"]}),
        True,
    ),
    ("x: Vector", arr(NUM), True),
    ("x: UserId", STR, True),
    ("x: Flag", BOOL, False),
    ("x: datetime.datetime", STR | {"format": "date-time"}, True),
    ("x: date", STR | {"format": "date"}, True),
    ("x: UUID", STR | {"format": "uuid"}, True),
    ("x: Path", STR, True),
    ("x: Decimal", NUM, True),
    ("x: Annotated[int, Field(ge=1, le=9)]", INT | {"minimum": 1, "maximum": 9}, True),
    ("x: Annotated[Optional[str], 'other words']", STR, False),
    ("self, x: int", INT, True),
    ("x: int, agent_state: 'AgentState'", INT, True),
    ("x: int, agent_state=None", INT, True),
]


def source_of(parameters: str, *, keyword: str = "def") -> str:
    return f'{IMPORTS}{DECLARED}\n{keyword} use({parameters}) -> str:\n    """Uses it.\n\n    Args:\n        x: The thing.\n    """\n    return ""\n'


@pytest.mark.parametrize(
    ("parameters", "schema", "is_required"), SIGNATURES, ids=[each[0] for each in SIGNATURES]
)
def test_a_signature_becomes_the_schema_that_models_see(
    parameters: str, schema: dict[str, Any], is_required: bool
) -> None:
    found = python_schema(source_of(parameters))
    described = "other words" if "other words" in parameters else "The thing."
    assert found == {
        "name": "use",
        "description": "Uses it.",
        "parameters": {
            "type": "object",
            "properties": {"x": schema | {"description": described}},
            "required": ["x"] if is_required else [],
        },
    }


def test_an_async_function_has_the_same_schema() -> None:
    assert python_schema(source_of("x: int", keyword="async def")) == python_schema(source_of("x: int"))


def test_the_last_function_is_the_tool_unless_one_is_named() -> None:
    source = 'def first():\n    """One."""\n\ndef second():\n    """Two."""\n'
    assert python_schema(source)["name"] == "second"
    assert python_schema(source, name="first")["description"] == "One."


def test_the_source_is_never_run() -> None:
    schema = python_schema('raise SystemExit(1)\ndef f():\n    """Does."""\n')
    assert schema["parameters"] == {"type": "object", "properties": {}, "required": []}


DOCSTRINGS = {
    "google": """
        Finds words.

        In every text.

        Args:
            text (str, optional): The text
                to search.
            limit: How many: at most.

        Returns:
            str: All of them.
        """,
    "numpy": """
        Finds words.

        In every text.

        Parameters
        ----------
        text : str, optional
            The text
            to search.
        limit : int
            How many: at most.

        Returns
        -------
        str
            All of them.
        """,
    "rest": """
        Finds words.

        In every text.

        :param text: The text
            to search.
        :type text: str
        :param int limit: How many: at most.
        :returns: All of them.
        :rtype: str
        """,
}


@pytest.mark.parametrize("style", DOCSTRINGS)
def test_every_style_of_docstring_is_understood(style: str) -> None:
    found = python_schema(f'def find(text: str, limit: int):\n    """{DOCSTRINGS[style]}"""\n')
    assert found["description"] == "Finds words.\n\nIn every text."
    described = {name: each["description"] for name, each in found["parameters"]["properties"].items()}
    assert described == {"text": "The text to search.", "limit": "How many: at most."}


def test_arguments_may_be_given_as_pydantic_writes_them() -> None:
    args = {"properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"], "$defs": {"A": STR}, "title": "F"}
    found = python_schema('def f(a):\n    """Does."""\n', args_schema=args)
    assert found["parameters"] == OBJ | {
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "required": ["a"],
        "$defs": {"A": STR},
    }
    assert python_schema("def f(a): ...", args_schema=args, description="Told.")["description"] == "Told."


REFUSED = {
    "def f(x: int):\n    return x": "docstring",
    'def f(x):\n    """Does.\n\n    Args:\n        x: It."""': "`x` has no type",
    'def f(x: int):\n    """Does."""': "`x` has no description",
    'def f(x: complex):\n    """Does.\n\n    Args:\n        x: It."""': "`x`",
    'def f(x: DataFrame):\n    """Does.\n\n    Args:\n        x: It."""': "`DataFrame`",
    'def f(x: Dict[int, str]):\n    """Does.\n\n    Args:\n        x: It."""': "Dict[str, …]",
    'def f(x: Callable[[int], str]):\n    """Does.\n\n    Args:\n        x: It."""': "`x`",
    'def f(x: None):\n    """Does.\n\n    Args:\n        x: It."""': "`x`",
    'def f(x: 3):\n    """Does.\n\n    Args:\n        x: It."""': "`x`",
    'def f(*x: int):\n    """Does."""': "`*x`",
    'def f(**x: int):\n    """Does."""': "`**x`",
    'class A:\n    y = 1\ndef f(x: A):\n    """Does.\n\n    Args:\n        x: It."""': "plain class",
    'class A(BaseModel):\n    a: "List[A]"\ndef f(x: A):\n    """Does.\n\n    Args:\n        x: It."""': "contains itself",
    'class A(Enum):\n    a = make()\ndef f(x: A):\n    """Does.\n\n    Args:\n        x: It."""': "plain value",
    'def f(x: "in t"):\n    """Does.\n\n    Args:\n        x: It."""': "`x`",
    "x = 1": "no function",
    "def f(:": "not valid Python in line 1",
    f'def {"f" * 49}():\n    """Does."""': "48",
    "def f(x: int" + " | int" * 3000 + '):\n    """Does.\n\n    Args:\n        x: It."""': "",
}


@pytest.mark.parametrize("source", REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_expressed_is_refused_with_the_name_and_the_mend(source: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        python_schema(source)
    assert REFUSED[source] in str(refusal.value)
