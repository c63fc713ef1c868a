"""What the tape keeps, what it costs to keep less, and what is right under every policy: `docs/tapes_measured.md`.

    python examples/bench/tapes.py                        every program under every policy, and long loops
    python examples/bench/tapes.py --before TREE          also what loopdiff in that folder keeps, and how long it takes
    python examples/bench/tapes.py --names wave LSTM      only some programs
    python examples/bench/tapes.py --json out.json        write everything measured; --from-json reports that
    python examples/bench/tapes.py --write                puts the tables into docs/tapes_measured.md

Each program is compiled in a process of its own, with nothing in the cache; bytes are those that the compiled functions
say of their temporaries, checked against the arrays of a workspace. Gradients under all policies are compared with each
other, and those of small arguments with what running the undecorated function on numbers with derivatives gives. Times
are CPU seconds on one core; of two trees, both take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import limited
import numpy as np
from machine import processor
from report import duration, in_section, table, versions
from tape_programs import PROGRAMS, Program

PAGE = limited.ROOT / "docs" / "tapes_measured.md"
POLICIES = ("auto", "store", "recompute")
SHARES = (2, 4, 10)  # memory limits are what `auto` keeps, divided by these
ALLOWED = {"float64": 1e-12, "float32": 1e-5}
ALLOWED_LONG = {"float64": 1e-10}
TIMED = ("shortest paths", "advection", "triangular product", "wave")
TURNS, BATCH = 15, 0.1  # each way round; seconds of a turn
LARGE = ("wave of 200 x 200, 2,000 steps", "for", 200, 2_000)  # of which 50 MB are 150 fields
STEADY = ("wave of 96 x 96, 20,000 steps", "for", 96, 20_000)
UNTIL = ("wave of 96 x 96, 20,000 steps or so, `while`", "while", 96, 20_000)
LONG: tuple[tuple[tuple[str, str, int, int], str, dict[str, Any]], ...] = (
    (LARGE, "no limit", {}),
    (LARGE, "`memory_limit=50e6`", {"memory_limit": 50e6}),
    (STEADY, "no limit", {}),
    (STEADY, "`memory_limit=100e6`", {"memory_limit": 100e6}),
    (STEADY, "`memory_limit=40e6`, `spill`", {"memory_limit": 40e6, "spill": True}),
    (UNTIL, "no limit", {}),
    (UNTIL, "`memory_limit=100e6`", {"memory_limit": 100e6}),
    (UNTIL, "`memory_limit=40e6`, `spill`", {"memory_limit": 40e6, "spill": True}),
)
Row = dict[str, Any]


def point(what: str, seconds: float = 300.0, megabytes: int = 8192, **task: Any) -> Row:
    return limited.run({"section": "tapes_point", "what": what, **task}, seconds, megabytes)


def said(*parts: object) -> None:
    print(*parts, file=sys.stderr, flush=True)


def alone(tree: str, folder: Path) -> str:
    """A folder with the loopdiff of a tree, and nothing else of it."""
    place = folder / "before"
    place.mkdir()
    (place / "loopdiff").symlink_to(Path(tree).resolve() / "loopdiff")
    return str(place)


# -- measuring -------------------------------------------------------------------------------------------------------
def measured(program: Program, folder: Path, before: str | None) -> Row:
    """A program under all policies and limits, with the largest differences of its gradients."""
    said(program.name)
    row: Row = {"program": program.name, "reason": program.reason, "is_asked": program.is_asked}
    row["now"] = point("kept", program=program.name, policies=POLICIES)
    if before:
        row["before"] = point("kept", program=program.name, policies=["auto"], tree=before)
    ways = [(policy, policy, None) for policy in POLICIES]
    whole = row["now"].get("auto", {"kept": 0})["kept"]
    limits = {share: point("fitting", program=program.name, limit=whole // share) for share in SHARES}
    ways += [(f"limit / {share}", "auto", found["limit"]) for share, found in limits.items()]
    files = {name: str(folder / f"{number}.npz") for number, (name, *_) in enumerate(ways)}
    row["ways"] = {
        name: point("compiled", program=program.name, tape=tape, limit=limit, file=files[name])
        for name, tape, limit in ways
    }
    row |= point("peaks", program=program.name, policies=("auto", "recompute"))
    files["oracle"] = str(folder / "oracle.npz")
    row["oracle"] = point("oracle", program=program.name, file=files["oracle"])
    gradients = {name: dict(np.load(file)) for name, file in files.items() if Path(file).exists()}
    for name in row["ways"]:
        if name in gradients and "store" in gradients:
            row["ways"][name]["apart"] = apart(gradients[name], gradients["store"])
            row["ways"][name]["wrong"] = apart(gradients[name], gradients["oracle"])
    for file in files.values():
        Path(file).unlink(missing_ok=True)
    return row


def apart(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> dict[str, float]:
    """By type, the largest difference of gradients that are in both, as a part of the largest number in each."""
    found: dict[str, float] = {}
    for name in one.keys() & other.keys():
        scale = np.abs(other[name]).max(initial=1e-300)
        kind = str(one[name].dtype)
        found[kind] = max(found.get(kind, 0.0), float(np.abs(one[name] - other[name]).max(initial=0.0) / scale))
    return found


def long_loops(folder: Path) -> Iterator[Row]:
    reference: dict[str, dict[str, np.ndarray]] = {}
    for number, ((loop, kind, n, steps), name, options) in enumerate(LONG):
        said(loop, name)
        file = folder / f"long{number}.npz"
        with tempfile.TemporaryDirectory(dir=folder) as spilled:
            given = {**options, "spill": spilled} if "spill" in options else options
            found = point("long", n=n, steps=steps, kind=kind, options=given, file=str(file), times=3, seconds=900)
        row: Row = {"loop": loop, "name": name, **found}
        if file.exists():
            gradients = dict(np.load(file))
            row["apart"] = apart(gradients, reference.setdefault(loop, gradients))
        yield row


class Turner:
    """A process that computes value and gradient of a program whenever it is told to."""

    def __init__(self, program: str, tree: str | None, cache: str, file: Path) -> None:
        task = {"section": "tapes_point", "what": "turns", "program": program, "tree": tree, "file": str(file)}
        task["batch"] = BATCH
        limits = {"cores": 1, "seconds": 900, "megabytes": 8192}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(limited.HERE / "worker.py"), json.dumps({**task, **limits})],
            env=limited.environment(cache), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        while (line := self.line()) != "ready":
            if not line:
                raise SystemExit(f"{program} in {tree or 'this tree'} ended before its first turn")

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def turn(self) -> float:
        """CPU seconds of one call."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.line())

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def turns(program: str, before: str, folder: Path) -> Row:
    """CPU seconds of value and gradient in both trees, which take turns, and how far their gradients are apart."""
    said("turns of", program)
    files = [folder / "before.npz", folder / "now.npz"]
    pairs = zip((before, None), files, strict=True)
    with tempfile.TemporaryDirectory(dir=folder) as one, tempfile.TemporaryDirectory(dir=folder) as other:
        turners = [Turner(program, t, c, f) for (t, f), c in zip(pairs, (one, other), strict=True)]
        times: list[list[float]] = [[], []]
        for number in range(2 * TURNS):
            for k in (0, 1) if number % 2 else (1, 0):
                times[k].append(turners[k].turn())
        for turner in turners:
            turner.end()
    found = apart(dict(np.load(files[1])), dict(np.load(files[0])))
    for file in files:
        file.unlink()
    medians = [statistics.median(t) for t in times]
    return {"program": program, "medians": medians, "least": [min(t) for t in times], "apart": found}


# -- the page --------------------------------------------------------------------------------------------------------
def in_megabytes(size: float | None) -> str:
    if size is None:
        return "-"
    value, unit = (size / 1e6, "MB") if size >= 1e6 else (size / 1e3, "kB")
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def times_least(row: Row, size: float | None) -> str:
    return "-" if size is None else f"{size / row['now']['least']:.2f}"


def kept_table(rows: Sequence[Row]) -> str:
    lines = [
        [
            row["program"],
            in_megabytes(row.get("before", {}).get("auto", {}).get("kept")),
            in_megabytes(row["now"]["auto"]["kept"]),
            in_megabytes(row["now"]["least"]),
            times_least(row, row["now"]["auto"]["kept"]),
            row["reason"],
        ]
        for row in rows
    ]
    return table(["program", "before", "now", "least", "now / least", "what the least is"], lines)


def policy_table(rows: Sequence[Row]) -> str:
    names = list(rows[0]["ways"])
    lines = [[row["program"], *(kept_cell(row["ways"][name]) for name in names)] for row in rows]
    return table(["kept", *names], lines)


def kept_cell(way: Row) -> str:
    """What was kept; in brackets where the limit was less than any sweeps need."""
    if "error" in way:
        return way["error"]
    return in_megabytes(way["kept"])


def right_table(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        ways = [w for w in row["ways"].values() if "apart" in w]
        peaks = [found["peak"] / found["predicted"] for found in row.get("peaks", {}).values()]
        lines.append(
            [
                row["program"],
                largest(way["apart"] for way in ways),
                largest(way["wrong"] for way in ways),
                f"{min(peaks):.2f} to {max(peaks):.2f}" if peaks else "-",
                f"{max(w['first'] for w in ways):.1f} s" if ways else "-",
            ]
        )
    head = ["program", "policies differ by", "from the oracle", "peak / predicted", "compiled within, CPU"]
    return table(head, lines)


def largest(found: Iterable[Mapping[str, float]], allowed: Mapping[str, float] = ALLOWED) -> str:
    """The largest difference of each type, where that is more than is allowed in bold."""
    most: dict[str, float] = {}
    for each in found:
        for kind, value in each.items():
            most[kind] = max(most.get(kind, 0.0), value)
    cells = [f"{v:.0e} in {k}" if v <= allowed[k] else f"**{v:.0e}** in {k}" for k, v in sorted(most.items())]
    return ", ".join(cells) or "-"


def time_table(rows: Sequence[Row]) -> str:
    lines = [
        [
            row["program"],
            *(duration(seconds) for seconds in row["medians"]),
            f"{row['medians'][0] / row['medians'][1]:.2f}",
            f"{row['least'][0] / row['least'][1]:.2f}",
            largest([row["apart"]]),
        ]
        for row in rows
    ]
    return table(["value and gradient", "before", "now", "times faster", "by the least", "gradients differ by"], lines)


def long_table(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        if "error" in row:
            lines.append([row["loop"], row["name"], row["error"], "", "", "", ""])
            continue
        whole = next(r for r in rows if r["loop"] == row["loop"])
        figures = [in_megabytes(row["kept"]), f"{row['megabytes']:.0f} MB", f"{row['seconds']:.2f} s"]
        lines.append(
            [
                row["loop"],
                row["name"],
                *figures,
                f"{row['seconds'] / whole['seconds']:.2f}",
                largest([row["apart"]], ALLOWED_LONG),
            ]
        )
    head = [
        "loop",
        "settings",
        "kept",
        "resident, beyond the start",
        "CPU time",
        "times as long",
        "gradients differ by",
    ]
    return table(head, lines, left=2)


KEPT = """Bytes of all temporaries between the sweeps under `auto`. The least is what no derivative can do without."""
LIMITS = """
Memory limits are what `auto` keeps, divided by 2, 4 and 10, or the least that any sweeps need, where that is more;
local arrays of the program, which are no temporaries, count as well.
""".strip()
RIGHT = """
Differences are parts of the largest number in a gradient: of all policies and limits from `store`, and of small
arguments from what the undecorated function gives on numbers with derivatives. Peaks are those of Python's
allocators under `auto` and `recompute`, of which some 5 kB are not arrays. The last column is the slowest of all
policies and limits.
""".strip()
TIME = """Medians of CPU seconds of value and gradient, both trees in turns; then the ratio of the least ones."""
LONG_LOOPS = """
CPU seconds of value and gradient, and the most memory that the process had beyond what it had before. Files of `spill`
count as pages in use do.
""".strip()


def sections(found: Mapping[str, Any]) -> dict[str, list[str]]:
    rows = found["programs"]
    used = ", ".join(f"{name} {found['versions'][name]}" for name in ("numba", "numpy")) if "versions" in found else ""
    about = f"{found['about']}, {used}, {found['versions']['date']}.\n" if used else ""
    parts = {
        "## What is kept": [about + KEPT, kept_table(rows)],
        "## Under every policy, and in less memory": [LIMITS, policy_table(rows)],
        "## Right, predicted, and compiled": [RIGHT, right_table(rows)],
    }
    if found.get("times"):
        parts["## Time"] = [TIME, time_table(found["times"])]
    if found.get("long"):
        parts["## Long loops in little memory"] = [LONG_LOOPS, long_table(found["long"])]
    return parts


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="a folder with another loopdiff")
    parser.add_argument("--names", nargs="*", help="only these programs")
    parser.add_argument("--only", nargs="*", default=["programs", "times", "long"], help="only these parts")
    parser.add_argument("--json", type=Path, help="write everything measured")
    parser.add_argument("--from-json", type=Path, nargs="+", help="measure nothing: report what --json once wrote")
    parser.add_argument("--write", action="store_true", help="write the tables into the documentation")
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    def is_chosen(name: str) -> bool:
        return not options.names or name in options.names

    found: dict[str, Any] = {"about": f"{processor()}, one core", "versions": versions()}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        before = None if options.before is None else alone(options.before, folder)
        if "programs" in options.only:
            found["programs"] = [measured(p, folder, before) for p in PROGRAMS if is_chosen(p.name)]
        if "times" in options.only and before:
            found["times"] = [turns(name, before, folder) for name in TIMED if is_chosen(name)]
        if "long" in options.only:
            found["long"] = list(long_loops(folder))
    return found


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    found: dict[str, Any] = {}
    for file in options.from_json or ():
        found |= json.loads(file.read_text(encoding="utf-8"))
    found = found or measure(options)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    parts = sections(found) if "programs" in found else {}
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    for heading, texts in parts.items():
        print(heading, *texts, sep="\n\n")
        page = in_section(page, heading, texts)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
