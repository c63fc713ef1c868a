"""How compile time and memory grow with the program: generated programs, and the exponents of power laws.

    python examples/bench/growth.py                               every family at every size
    python examples/bench/growth.py --families whole steps --points 3
    python examples/bench/growth.py --profile steps 20            where the time of one program goes
    python examples/bench/growth.py --json out.json --docs        also writes docs/plots/growth.svg
    python examples/bench/growth.py --from-json out.json          measure nothing, report that

Each program is compiled in a process of its own, with nothing in the cache: CPU seconds until its value is there, then
its gradient, without those that any first compilation takes. An exponent is the slope of a straight line through the
three largest programs that were compiled, in logarithms of both axes: what doubles with the program has 1. Seconds are
of CPU, so that a busy machine disturbs them little.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import limited
from programs import FAMILIES

Row = Mapping[str, Any]
UPPER = 3  # of the points of a family, those that an exponent is fitted to
ALLOWED = 1.3  # an exponent that is said to be too large
LEAST = 0.05  # seconds, or megabytes, below which nothing is fitted


def measure(options: argparse.Namespace) -> list[Row]:
    found: list[Row] = []
    for name in options.families:
        for n in FAMILIES[name].sizes[: options.points]:
            print(f"{name} {n}", file=sys.stderr, flush=True)
            row = {"family": name, "n": n, **point(name, n, options)}
            found.append(row)
            if "error" in row:
                break  # larger ones only take longer
    return found


def point(name: str, n: int, options: argparse.Namespace, profile: bool = False) -> dict[str, Any]:
    task = {"section": "growth_point", "family": name, "n": n, "profile": profile}
    return limited.run(task, options.limit, options.memory)


def memory(row: Row) -> float:
    """Megabytes that the program took, beyond those of any compilation."""
    return row["gradient_memory"] - row["base"]


FITTED = {"value": lambda row: row["value"], "gradient": lambda row: row["gradient"], "memory": memory}


def exponents(rows: Sequence[Row]) -> dict[str, float]:
    """Of the programs of one family: by which power of their size each figure grows."""
    found = {}
    for figure, read in FITTED.items():
        needed = "value" if figure == "value" else "gradient"
        points = [(row["n"], read(row)) for row in rows if needed in row][-UPPER:]
        if len(points) > 1 and all(value > LEAST for _, value in points):
            found[figure] = slope(points)
    return found


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the straight line through `points` in logarithms, by least squares."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x, mean_y = (sum(p[k] for p in logs) / len(logs) for k in (0, 1))
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def of_family(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if row["family"] == name]


def table(rows: Sequence[Row]) -> str:
    head = ("program", "n", "value, s", "and gradient, s", "memory, MB", "stages that take most")
    lines = [f"| {' | '.join(head)} |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    for row in rows:
        figures = [f"{row[k]:.2f}" if k in row else "" for k in ("value", "gradient")]
        taken = f"{memory(row):.0f}" if "gradient_memory" in row else ""
        cells = [row["family"], str(row["n"]), *figures, taken, row.get("error") or most(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def most(row: Row) -> str:
    """The stages that took most of the time, with their shares."""
    total = sum(row["stages"].values())
    return ", ".join(f"{stage} {100 * seconds / total:.0f} %" for stage, seconds in [*row["stages"].items()][:3])


def summary(rows: Sequence[Row]) -> str:
    """The exponents of every family, the largest first, and which of them are too large."""
    lines = ["| program | n counts | value | and gradient | memory | |", "| --- | --- | ---: | ---: | ---: | --- |"]
    fits = {name: exponents(of_family(rows, name)) for name in FAMILIES if of_family(rows, name)}
    for name, fit in sorted(fits.items(), key=lambda item: -max(item[1].values(), default=0.0)):
        over = [figure for figure, value in fit.items() if value > ALLOWED]
        figures = [f"{fit[k]:.2f}" if k in fit else "" for k in FITTED]
        remark = f"more than {ALLOWED}: {', '.join(over)}" if over else ""
        lines.append(f"| {' | '.join([name, FAMILIES[name].counts, *figures, remark])} |")
    return "\n".join(lines)


def show_profile(row: Row) -> None:
    print(row.get("error", f"value {row.get('value', 0):.2f} s, and gradient {row.get('gradient', 0):.2f} s, profiled"))
    print("stages: " + ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in row.get("stages", {}).items()))
    print(f"\n{'own':>8s} {'with callees':>12s} {'calls':>9s}  function")
    for name, own, whole, calls in row.get("functions", []):
        print(f"{own:8.2f} {whole:12.2f} {calls:9d}  {name}")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES), metavar="FAMILY")
    parser.add_argument("--points", type=int, help="only so many sizes of each family, the smallest")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds that one program may take")
    parser.add_argument("--memory", type=int, default=4096, help="megabytes that it may take")
    parser.add_argument("--profile", nargs=2, metavar=("FAMILY", "N"), help="where the time of one program goes")
    parser.add_argument("--json", type=Path, help="write everything measured")
    parser.add_argument("--from-json", type=Path, nargs="+", help="measure nothing: report what --json once wrote")
    parser.add_argument("--plots", type=Path, help="write growth.svg into this folder")
    parser.add_argument("--docs", action="store_true", help="write it into docs/plots")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.profile:
        name, n = options.profile
        show_profile(point(name, int(n), options, profile=True))
        return 0
    rows = [row for file in options.from_json or () for row in json.loads(file.read_text())] or measure(options)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows), summary(rows), sep="\n\n")
    folder = limited.ROOT / "docs" / "plots" if options.docs else options.plots
    if folder:
        importlib.import_module("growth_plot").write(rows, folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
