"""NPBench (https://github.com/spcl/npbench), programs that others wrote: compile times, and times beside its own peers.

    python examples/bench/npbench.py PATH                             a checkout of it, every benchmark, sizes S and M
    python examples/bench/npbench.py PATH --benchmarks hdiff gemm --size S
    python examples/bench/npbench.py PATH --json out.json --markdown out.md
    python examples/bench/npbench.py --from-json out.json             measure nothing, report that

Nothing of NPBench is copied or changed. Each benchmark runs in a process of its own on one pinned core, with an end in
time and memory: its NumPy source as it stands, or where that is refused the loops of its variant for Numba. The value
is compared with the NumPy source's, the gradient with that of NPBench's variant for JAX, or with differences where JAX
has none, before anything is timed; candidates then take turns, and medians are shown. The loss is the sum of the
outputs times weights. Gradients are taken by `vjp` and by `value_and_grad` of the loss; the faster way counts.
Arguments that a program changes are restored within the time of each call; JAX changes none.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import limited

Row = Mapping[str, Any]
WAYS = ("vjp", "value_and_grad")
PEERS = ("Numba", "JAX")


def measure(options: argparse.Namespace) -> list[Row]:
    found: list[Row] = []
    for size in options.size:
        for name in options.benchmarks:
            print(f"{name} {size}", file=sys.stderr, flush=True)
            found.append({"name": name, "size": size, **benchmark(name, size, options)})
    return found


def benchmark(name: str, size: str, options: argparse.Namespace) -> dict[str, Any]:
    """The row of one benchmark; where JAX ends the process, everything but JAX is measured again."""
    task = {"section": "npbench_point", "path": str(options.path), "name": name, "size": size, "budget": options.budget}
    row = limited.run({**task, "jax": True, "why": ""}, options.limit, options.memory)
    if row.get("error", "").startswith("JAX: "):
        return limited.run({**task, "jax": False, "why": row["error"]}, options.limit, options.memory)
    return row


def gradient(row: Row) -> float | None:
    """Seconds of value and gradient, by the faster way."""
    return min((row[way] for way in WAYS if way in row), default=None)


def ratios(row: Row) -> tuple[float | None, float | None]:
    """Our time over Numba's, of the value, and over JAX's, of value and gradient."""
    own = gradient(row)
    value = row["value"] / row["numba"] if "value" in row and "numba" in row else None
    return value, own / row["jax"] if own is not None and "jax" in row else None


def mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def in_words(seconds: float | None) -> str:
    if seconds is None:
        return ""
    unit, scale = next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3)) if seconds >= s), ("µs", 1e-6))
    return f"{seconds / scale:.3g} {unit}"


def fixed(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


HEAD = (
    "benchmark", "form", "compile value, s", "and gradient, s", "peak, MB", "value", "Numba", "ratio",
    "value and gradient", "JAX", "ratio", "checked by", "remarks",
)  # fmt: skip


def table(rows: Sequence[Row]) -> str:
    lines = [f"| {' | '.join(HEAD)} |", f"| --- | --- |{' ---: |' * 9} --- | --- |"]
    for row in rows:
        value, slope = ratios(row)
        memory = row.get("gradient_memory", row.get("value_memory"))
        compiling = [fixed(row.get(f"{what}_seconds"), 1) for what in ("value", "gradient")]
        values = [in_words(row.get("value")), in_words(row.get("numba")), fixed(value, 2)]
        slopes = [in_words(gradient(row)), in_words(row.get("jax")), fixed(slope, 2)]
        known = [row["name"], row.get("form", "none"), *compiling, fixed(memory, 0)]
        cells = [*known, *values, *slopes, row.get("checked", ""), remarks(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def remarks(row: Row) -> str:
    """Whatever a row has no number for, and why."""
    kinds = ("refused numpy", "refused numba_n", "no gradient", "no loss", "no numba", "no jax", "error")
    return "; ".join(f"{kind}: {row[kind]}" for kind in kinds if kind in row).replace("|", "/")


def summary(rows: Sequence[Row]) -> str:
    lines = [f"{sum('value_seconds' in r for r in rows)} of {len(rows)} compile, "
             f"{sum(r.get('form') == 'NumPy source' for r in rows)} as NumPy sources."]  # fmt: skip
    for what, title in (("value_seconds", "value"), ("gradient_seconds", "value and gradient")):
        found = [r[what] for r in rows if what in r]
        if found:
            lines.append(f"Compiling {title}: median {median(found):.1f} s of CPU, most {max(found):.1f} s.")
    for peer, k in zip(PEERS, (0, 1), strict=True):
        found = {r["name"]: ratio for r in rows if (ratio := ratios(r)[k]) is not None}
        if found:
            lost = sorted((r, n) for n, r in found.items() if r > 1.0)
            slower = ", ".join(f"{n} ({r:.2f})" for r, n in reversed(lost)) or "none"
            lines.append(f"{'Value' if k == 0 else 'Value and gradient'} over {peer}'s: {mean([*found.values()]):.2f} "
                         f"(geometric mean of {len(found)}); slower than {peer}: {slower}.")  # fmt: skip
    return "\n".join(lines)


def report(rows: Sequence[Row]) -> str:
    parts = []
    for size in dict.fromkeys(row["size"] for row in rows):
        of_size = [row for row in rows if row["size"] == size]
        parts.append(f"## Size {size}\n\n{table(of_size)}\n\n{summary(of_size)}\n")
    return "\n".join(parts)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, nargs="?", help="a checkout of NPBench")
    parser.add_argument("--benchmarks", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--size", nargs="+", default=["S", "M"], choices=["S", "M", "L"])
    parser.add_argument("--budget", type=float, default=3.0, help="seconds of timing, for values and for gradients")
    parser.add_argument("--limit", type=float, default=240.0, help="CPU seconds of one process, compiling included")
    parser.add_argument("--memory", type=int, default=6144, help="megabytes that it may take")
    parser.add_argument("--json", type=Path, help="write everything measured")
    parser.add_argument("--from-json", type=Path, nargs="+", help="measure nothing: report what --json once wrote")
    parser.add_argument("--markdown", type=Path, help="write the report there and not to standard output")
    options = parser.parse_args(arguments)
    if not options.from_json:
        if options.path is None or not (options.path / "bench_info").is_dir():
            parser.error("needs the path of a checkout of NPBench")
        known = sorted(p.stem for p in (options.path / "bench_info").glob("*.json"))
        options.benchmarks = options.benchmarks or known
        if unknown := set(options.benchmarks) - set(known):
            parser.error(f"no benchmarks {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    rows = [row for file in options.from_json or () for row in json.loads(file.read_text())] or measure(options)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    text = report(rows)
    if options.markdown:
        options.markdown.write_text(text)
    else:
        print(text)
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
