"""Two pictures of the board, as SVG: where each gradient lies under the roofline, and how far it is from the others."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import peers
from report import Row, measured

matplotlib: Any = importlib.import_module("matplotlib")
matplotlib.use("svg")
matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "board", "font.size": 8, "axes.grid": True}
matplotlib.rcParams |= {"grid.alpha": 0.25, "axes.spines.top": False, "axes.spines.right": False}
pyplot: Any = importlib.import_module("matplotlib.pyplot")


def write(results: Mapping[str, Any], folder: Path) -> None:
    """`roofline.svg` and `ratios.svg` of the first size that was measured; nothing without kernels."""
    rows = measured(results, "suite")
    machine = measured(results, "machine")
    if not rows or not machine:
        return
    folder.mkdir(parents=True, exist_ok=True)
    first = [row for row in rows if row["size"] == rows[0]["size"]]
    save(roofline(first, machine[0]), folder / "roofline.svg")
    save(ratios(first), folder / "ratios.svg")


def save(figure: Any, path: Path) -> None:
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


def roofline(rows: Sequence[Row], machine: Row) -> Any:
    figure, axes = pyplot.subplots(figsize=(7.2, 4.4))
    intensity = np.geomspace(0.03, 300, 200)
    for level, bandwidth in machine["bandwidth"].items():
        roof = np.minimum(intensity * bandwidth, machine["flops"]["float64"]) / 1e9
        axes.plot(intensity, roof, color="0.6", linewidth=0.8)
        axes.annotate(level, (intensity[8], roof[8]), fontsize=7, color="0.4")
    single = machine["flops"]["float32"] / 1e9
    axes.axhline(single, color="0.6", linewidth=0.8, linestyle=":")
    for label, value in (("float32", single), ("float64", machine["flops"]["float64"] / 1e9)):
        axes.annotate(f"multiply-adds, {label}", (300, value), fontsize=7, color="0.4", ha="right", va="bottom")
    for row in rows:
        x = row["flops"][1] / row["traffic"][1]
        y = row["flops"][1] / row["gradient"] / 1e9
        axes.plot(x, y, "o", color="C0" if row["dtype"] == "float64" else "C1", markersize=4)
        axes.annotate(row["kernel"], (x, y), fontsize=6, xytext=(3, 2), textcoords="offset points")
    axes.set(xscale="log", yscale="log", xlabel="operations per byte that must move", ylabel="GFLOP/s")
    axes.set_title("value and gradient by loopdiff, one core")
    return figure


def ratios(rows: Sequence[Row]) -> Any:
    """Times of the peers over loopdiff's, kernel by kernel: right of the line loopdiff is faster."""
    figure, axes = pyplot.subplots(figsize=(7.2, 0.22 * len(rows) + 1.2))
    places = np.arange(len(rows))[::-1]
    for number, name in enumerate(peers.MODULES):
        points = [
            (row["peers"][name] / row["gradient"], place)
            for row, place in zip(rows, places, strict=True)
            if name in row["peers"]
        ]
        if points:
            axes.plot(*zip(*points, strict=True), "o^sDvP*Xd"[number], color=f"C{number}", markersize=4, label=name)
    axes.axvline(1.0, color="0.3", linewidth=1)
    axes.set(xscale="log", xlabel="time of the peer / time of loopdiff")
    axes.set_yticks(places, [row["kernel"] for row in rows])
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.07), ncols=5, frameon=False)
    axes.set_title("value and gradient: right of the line loopdiff is faster")
    return figure
