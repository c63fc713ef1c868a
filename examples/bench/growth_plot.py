"""The picture of `growth.py`: compile time over the size of generated programs, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from growth import FITTED, exponents, of_family
from plots import pyplot, save
from programs import FAMILIES

FIGURES = {"gradient": "value and gradient, CPU seconds", "memory": "memory beyond that of any compilation, MB"}


def write(rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """`growth.svg`: time and memory, a line for each family, with its exponent where there is one."""
    figure, both = pyplot.subplots(1, 2, figsize=(9.6, 4.4))
    for axes, (name, title) in zip(both, FIGURES.items(), strict=True):
        for number, family in enumerate(FAMILIES):
            found = [row for row in of_family(rows, family) if "gradient" in row]
            power = exponents(found).get(name)
            label = family if power is None else f"{family}, {power:.1f}"
            points = [(row["n"], FITTED[name](row)) for row in found]
            if points:
                axes.plot(
                    *zip(*points, strict=True), "o^sDvP*Xdh"[number] + "-", markersize=4, linewidth=1, label=label
                )
        axes.set(xscale="log", yscale="log", xlabel="size of the program", title=title)
        axes.legend(fontsize=7, frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    save(figure, folder / "growth.svg")
