"""The manifest and the tests agree: nothing promised goes untested, and no test keeps an unknown promise."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.manifest import GAPS, OWN, PROMISES, UNSERVED
from tests.support.operations import operations_of

from remanence.app import create_app
from remanence.settings import FixedSettings

HERE = Path(__file__).parent
AREAS = {
    "health",
    "agents",
    "blocks",
    "tools",
    "models",
    "providers",
    "tags",
    "runs",
    "steps",
    "conversations",
    "messages",
    "archives",
    "passages",
}


def cited() -> Iterator[tuple[str, str]]:
    """Ids in `pytest.mark.promise(…)`, each with the file that cites it."""
    for file in sorted(HERE.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.promise":
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"{file.name}: cite ids as plain texts"
                    yield str(argument.value), file.name


def served(tmp_path: Path) -> set[str]:
    app = create_app(FixedSettings(dir=tmp_path, local_model="off"))
    return {_plain(str(operation)) for operation in operations_of(app.openapi())}


def contract() -> dict[str, tuple[str, str]]:
    """The priority and area of each operation that clients know."""
    lines = (HERE / "contract_operations.txt").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split() for line in lines]
    return {_plain(f"{method} {path}"): (priority, area) for priority, area, method, path, _ in rows}


def _plain(operation: str) -> str:
    """The names of what varies do not matter."""
    return re.sub(r"\{[^}]*\}", "{}", operation)


def test_every_promise_is_kept_by_a_test_and_every_citation_is_a_promise() -> None:
    found = dict(cited())
    assert {name: file for name, file in found.items() if name not in PROMISES} == {}
    assert sorted(PROMISES.keys() - found.keys()) == []


def test_a_gap_is_neither_promised_nor_tested() -> None:
    assert GAPS.keys() & (PROMISES.keys() | dict(cited()).keys()) == set()


def test_nothing_is_served_but_what_clients_know_and_what_is_said_to_be_our_own(tmp_path: Path) -> None:
    assert served(tmp_path) - contract().keys() == {_plain(operation) for operation in OWN}


def test_every_operation_of_the_first_priority_is_served_or_a_known_gap(tmp_path: Path) -> None:
    needed = {name for name, (priority, area) in contract().items() if priority == "P0" and area in AREAS}
    needed |= {_plain("GET /v1/tags/"), _plain("GET /v1/agents/count"), _plain("GET /v1/blocks/count")}
    assert needed - served(tmp_path) == {_plain(operation) for operation in UNSERVED}
