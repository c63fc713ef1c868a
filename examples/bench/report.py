"""What was measured, as Markdown: a table for each section, the targets beside the numbers, and the rows we lose."""

from __future__ import annotations

import importlib.metadata
import math
import platform
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import peers

Row = Mapping[str, Any]
PACKAGES = ("numba", "numpy", "jax", "torch", "enzyme-ad", "drjit", "warp-lang", "dace")


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "date": date.today().isoformat()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


# -- words and numbers ---------------------------------------------------------------------------------------
def duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            value = seconds / size
            return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def ratio(value: float | None, limit: float = 1.0) -> str:
    """A ratio of times, in bold where it is above `limit`: a row that is lost."""
    if value is None:
        return "-"
    text = f"{value:.2f}"
    return f"**{text}**" if value > limit else text


def table(header: Sequence[str], lines: Iterable[Sequence[str]], left: int = 1) -> str:
    rule = ["---"] * left + ["---:"] * (len(header) - left)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *lines))


def geometric(values: Sequence[float]) -> float | None:
    return statistics.geometric_mean(values) if values else None


def verdict(is_met: bool | None) -> str:
    return "-" if is_met is None else "met" if is_met else "**missed**"


def in_section(page: str, heading: str, parts: list[str]) -> str:
    """A page whose section `heading` has these parts, and no others; a new section comes last."""
    before, _, rest = page.partition(f"{heading}\n")
    after = rest[rest.find("\n## ") + 1 :] if "\n## " in rest else ""
    return "\n\n".join([before.rstrip(), heading, *parts, *([after.rstrip()] if after else [])]) + "\n"


# -- the suite -----------------------------------------------------------------------------------------------
def measured(results: Mapping[str, Any], section: str) -> list[Row]:
    return [row for row in results["sections"].get(section, []) if "error" not in row]


def to_jax(row: Row) -> float | None:
    return row["gradient"] / row["peers"]["jax"] if "jax" in row["peers"] else None


def to_best(row: Row) -> float | None:
    return row["gradient"] / min(row["peers"].values()) if row["peers"] else None


def suite_tables(results: Mapping[str, Any]) -> str:
    rows = measured(results, "suite")
    parts = []
    for size in dict.fromkeys(row["size"] for row in rows):
        of_size = [row for row in rows if row["size"] == size]
        parts += [f"### Size {size}", own_table(of_size), peer_table(of_size), *failures(of_size)]
    return "\n\n".join(parts)


def own_table(rows: Sequence[Row]) -> str:
    header = ["kernel", "type", "first call", "primal", "gradient", "gradient / primal", "`vjp`", "sweeps", "GFLOP/s"]
    header += ["GB/s", "to JAX", "to the best"]
    lines = [
        [
            row["kernel"],
            row["dtype"].replace("float", "f"),
            duration(row["first"]),
            duration(row["primal"]),
            duration(row["gradient"]),
            f"{row['gradient'] / row['primal']:.1f}",
            duration(row.get("vjp")),
            duration(row.get("sweeps")),
            f"{row['flops'][1] / row['gradient'] / 1e9:.1f}",
            f"{row['traffic'][1] / row['gradient'] / 1e9:.1f}",
            ratio(to_jax(row)),
            ratio(to_best(row)),
        ]
        for row in rows
    ]
    return table(header, lines, left=2)


def peer_table(rows: Sequence[Row]) -> str:
    names = [name for name in peers.MODULES if any(name in row["peers"] for row in rows)]
    lines = [[row["kernel"], duration(row["gradient"]), *(peer_cell(row, name) for name in names)] for row in rows]
    return table(["gradient", "loopdiff", *names], lines)


def peer_cell(row: Row, name: str) -> str:
    seconds = row["peers"].get(name)
    if seconds is None:
        return "failed" if name in row["failed"] else "-"
    return f"**{duration(seconds)}**" if seconds < row["gradient"] else duration(seconds)


def failures(rows: Sequence[Row]) -> list[str]:
    found = [f"* {row['kernel']}, {name}: {reason}" for row in rows for name, reason in row["failed"].items()]
    return ["Without a number because they failed:\n\n" + "\n".join(found)] if found else []


# -- targets -------------------------------------------------------------------------------------------------
def suite_targets(results: Mapping[str, Any]) -> list[tuple[str, str, bool | None]]:
    rows = [row for row in measured(results, "suite") if row["size"] == "S"]
    if not rows:
        return []
    jax = [r for r in map(to_jax, rows) if r is not None]
    best = [r for r in map(to_best, rows) if r is not None]
    growth = [row["gradient"] / row["primal"] for row in rows]
    speedup = 1.0 / (geometric(jax) or math.inf)
    ahead, first = sum(r < 1 for r in jax), sum(r < 1 for r in best)
    return [
        ("kernels faster than JAX, of 24: at least 22", f"{ahead} of {len(jax)}", ahead >= 22),
        ("geometric mean of JAX / loopdiff: at least 3", f"{speedup:.2f}", speedup >= 3),
        ("kernels faster than every peer: at least 20", f"{first} of {len(best)}", first >= 20),
        ("slowest against the best peer: at most 1.3", f"{max(best):.2f}", max(best) <= 1.3),
        ("gradient / primal, geometric mean: at most 3", f"{geometric(growth):.2f}", (geometric(growth) or 0) <= 3),
        ("gradient / primal, largest: at most 6", f"{max(growth):.2f}", max(growth) <= 6),
    ]


def thread_targets(results: Mapping[str, Any]) -> list[tuple[str, str, bool | None]]:
    rows = measured(results, "threads")
    long = [row["speedup"] for row in rows if row["is_long"]]
    if not rows:
        return []
    least = min(row["speedup"] for row in rows)
    faster = f"{min(long):.2f} to {max(long):.2f}, {sum(v >= 1.6 for v in long)} of {len(long)}" if long else "-"
    return [
        ("two threads against one above 10 ms: at least 1.6", faster, min(long) >= 1.6 if long else None),
        ("two threads against one, any size: at least 0.95", f"{least:.2f}", least >= 0.95),
    ]


def cold_targets(results: Mapping[str, Any]) -> list[tuple[str, str, bool | None]]:
    seconds = {phase: [row["seconds"] for row in phases(results, phase).values()] for phase in ("cold", "warm")}
    if not seconds["cold"] or not seconds["warm"]:
        return []
    middle, most, warm = statistics.median(seconds["cold"]), max(seconds["cold"]), max(seconds["warm"])
    return [
        ("cold compile, median: under 2.5 s", duration(middle), middle < 2.5),
        ("cold compile, slowest: at most 8 s", duration(most), most <= 8.0),
        ("warm start, slowest: under 0.3 s", duration(warm), warm < 0.3),
    ]


def phases(results: Mapping[str, Any], phase: str) -> dict[str, Row]:
    return {row["kernel"]: row for row in measured(results, "cold") if row["phase"] == phase}


def cold_table(results: Mapping[str, Any]) -> str:
    cold, warm = phases(results, "cold"), phases(results, "warm")
    lines = [
        [name, *(duration(row[name]["seconds"] if name in row else None) for row in (cold, warm))]
        for name in dict.fromkeys([*cold, *warm])
    ]
    return table(["kernel", "cold", "warm"], lines) if lines else ""


def stated_targets(results: Mapping[str, Any]) -> list[tuple[str, str, bool | None]]:
    """Targets that rows of the other sections carry themselves: `(what, value, whether it is met)`."""
    found = []
    for rows in results["sections"].values():
        for row in rows:
            found += [(what, shown, met) for what, shown, met in row.get("targets", [])]
    return found


def target_table(results: Mapping[str, Any]) -> str:
    found = [*suite_targets(results), *stated_targets(results), *thread_targets(results), *cold_targets(results)]
    return table(["target", "measured", "verdict"], [[w, s, verdict(m)] for w, s, m in found]) if found else ""


# -- other sections ------------------------------------------------------------------------------------------
def machine_text(results: Mapping[str, Any]) -> str:
    for row in measured(results, "machine"):
        flops = ", ".join(f"{v / 1e9:.0f} GFLOP/s in {k}" for k, v in row["flops"].items())
        bandwidth = ", ".join(f"{v / 1e9:.0f} GB/s in {k}" for k, v in row["bandwidth"].items())
        return (
            f"{row['processor']}, {row['cores']} cores, {row['vector_bits']}-bit vectors. Measured on one core in the "
            f"same run: fused multiply-adds {flops}; copies {bandwidth}."
        )
    return ""


def plain_table(rows: Sequence[Row]) -> str:
    """Rows whose `cells` are ready to be shown, the names of the columns first come first."""
    header = list(dict.fromkeys(name for row in rows for name in row["cells"]))
    return table(header, [[str(row["cells"].get(name, "-")) for name in header] for row in rows])


TITLES = {
    "headline": "The function of the README",
    "matmul": "Matrix products as loops",
    "mlp": "A small network over 65,536 rows",
    "stencils": "Stencils larger than the second cache",
    "functions": "Elementary functions",
    "threads": "Two threads",
    "cold": "Compiling",
}


def sections(results: Mapping[str, Any]) -> dict[str, str]:
    """The text of each part, by the name of its markers in docs/benchmarks.md."""
    found = {"machine": machine_text(results), "targets": target_table(results), "suite": suite_tables(results)}
    found["cold"] = cold_table(results)
    for name in TITLES:
        rows = [row for row in measured(results, name) if "cells" in row]
        if rows:
            found[name] = plain_table(rows)
    return {name: text for name, text in found.items() if text}


def markdown(results: Mapping[str, Any]) -> str:
    known = results.get("versions", {})
    stated = ", ".join(f"{name} {value}" for name, value in known.items())
    titles = {"machine": "Machine", "targets": "Targets", "suite": "Kernels", **TITLES}
    parts = [f"# Board\n\n{stated}"]
    parts += [f"## {titles[name]}\n\n{text}" for name, text in sections(results).items()]
    return "\n\n".join(parts) + "\n"


def write_docs(results: Mapping[str, Any], page: Path) -> None:
    """Put each part between its markers; parts that were not measured stay as they are."""
    text = page.read_text()
    known = results["versions"]
    when = f"Measured on {known['date']} with " + ", ".join(f"{k} {v}" for k, v in known.items() if k != "date") + "."
    for name, part in {"versions": when, **sections(results)}.items():
        text = between(text, name, part)
    page.write_text(text)


def between(text: str, name: str, part: str) -> str:
    """`text` with `part` between the markers of `name`."""
    pattern = re.compile(rf"(<!-- board: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    replace: Callable[[re.Match[str]], str] = lambda found: f"{found[1]}{part}\n{found[2]}"
    return pattern.sub(replace, text, count=1)
