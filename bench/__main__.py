"""The command: runs the measurements that were asked for, and shows them beside their targets."""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.adapters import measure_adapters
from bench.figures import ROWS, Figure, Row
from bench.files import measure_files
from bench.groups import measure_groups
from bench.measures import MEASURES as OF_THE_SERVER
from bench.measures import Bench, Measure
from bench.processes import ModelProcess, Storage
from bench.tools import measure_tools

KINDS = ("sqlite", "postgres")
Results = Mapping[str, Mapping[str, Figure]]

MEASURES: dict[str, Measure] = {
    **OF_THE_SERVER,
    "tools": measure_tools,
    "groups": measure_groups,
    "files": measure_files,
    "adapters": measure_adapters,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure the server's speed and size."
    )
    parser.add_argument(
        "--only", nargs="+", choices=sorted(MEASURES), metavar="NAME", help=", ".join(MEASURES)
    )
    parser.add_argument("--database", choices=KINDS, help="one of the two databases")
    parser.add_argument(
        "--quick", action="store_true", help="see that everything runs; the figures mean little"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    kinds: Sequence[str] = [options.database] if options.database else KINDS
    names: Sequence[str] = options.only or list(MEASURES)

    console = Console(stderr=True, highlight=False)
    before = os.getloadavg()
    results: dict[str, dict[str, Figure]] = {}
    failures: list[str] = []
    with console.status("…") as status:
        for kind in kinds:
            results[kind], failed = measure(
                kind, names, is_quick=options.quick, tell=lambda text: status.update(text)
            )
            failures += failed
    machine = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_before": [round(value, 2) for value in before],
        "load_after": [round(value, 2) for value in os.getloadavg()],
        "is_quick": options.quick,
    }
    if options.json:
        options.json.write_text(json.dumps(as_json(results, machine), indent=2) + "\n")
    show(results, machine)
    for failure in failures:
        console.print(Text(failure, style="red"))
    return 1 if failures else 0


def measure(
    kind: str, names: Sequence[str], *, is_quick: bool, tell: Callable[[str], None]
) -> tuple[dict[str, Figure], list[str]]:
    folder = Path(tempfile.mkdtemp(prefix="remanence-bench-"))
    storage = Storage(kind, folder)
    failures: list[str] = []
    with ModelProcess() as model:
        bench = Bench(storage, model, folder, is_quick)
        try:
            for name in names:
                tell(f"{kind}: {name}")
                try:
                    uvloop.run(MEASURES[name](bench))
                except Exception as error:
                    failures.append(f"{kind}: {name} failed: {type(error).__name__}: {error}")
            return bench.figures, failures
        finally:
            bench.close()
            storage.close()
            shutil.rmtree(folder, ignore_errors=True)


def show(results: Results, machine: Mapping[str, object]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column("target", justify="right")
    for kind in results:
        table.add_column(kind, justify="right")
        table.add_column("p95", justify="right")
    table.add_column("unit")
    for row in ROWS:
        figures = [results[kind].get(row.name) for kind in results]
        if not any(figures):
            continue
        cells: list[Text] = [Text(row.label), Text(target_text(row), style="dim")]
        for figure in figures:
            cells += [figure_text(row, figure), Text(number(figure.p95, row) if figure else "", style="dim")]
        table.add_row(*cells, Text(row.unit, style="dim"))
    width = None if sys.stdout.isatty() else 140
    console = Console(highlight=False, width=width)
    console.print(table)
    for kind, figures in results.items():
        for row in ROWS:
            figure = figures.get(row.name)
            if figure is not None and figure.note:
                console.print(Text(f"{kind}, {row.label}: {figure.note}", style="dim"))
    load = f"load {machine['load_before']} before and {machine['load_after']} after"
    console.print(Text(f"{machine['cores']} cores, Python {machine['python']}, {load}", style="dim"))


def target_text(row: Row) -> str:
    if row.target is None:
        return ""
    return ("≤ " if row.better == "less" else "≥ ") + f"{row.target:,g}"


def figure_text(row: Row, figure: Figure | None) -> Text:
    if figure is None:
        return Text("–", style="dim")
    is_met = figure.meets(row)
    return Text(
        number(figure.value, row) + (" !" if is_met is False else "  "),
        style={True: "green", False: "yellow", None: ""}[is_met],
    )


def number(value: float | None, row: Row) -> str:
    return "" if value is None else f"{value:,.{row.places}f}"


def as_json(results: Results, machine: Mapping[str, object]) -> dict[str, object]:
    def one(row: Row, figure: Figure) -> dict[str, object]:
        return {
            **asdict(figure),
            "unit": row.unit,
            "target": row.target,
            "better": row.better,
            "is_met": figure.meets(row),
        }

    figures = {
        kind: {row.name: one(row, found[row.name]) for row in ROWS if row.name in found}
        for kind, found in results.items()
    }
    return {"machine": machine, "figures": figures}


if __name__ == "__main__":
    sys.exit(main())
