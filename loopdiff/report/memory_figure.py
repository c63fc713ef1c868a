"""A picture of memory in the course of both sweeps, drawn by matplotlib, which is imported for nothing else."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from loopdiff.errors import NOWHERE, BackendError
from loopdiff.errors.codes import reject
from loopdiff.report.memory_course import MemoryCourse

LISTED = 9  # arrays that have a colour of their own: matplotlib has ten
TIME_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
BYTE_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))
SIZE = (8.0, 4.5)  # inches


def draw_memory(course: MemoryCourse) -> Any:
    """A `matplotlib.figure.Figure` of the bytes that arrays hold, one upon the other, over the time that is predicted.

    It belongs to no window. Raises BackendError (LD611) where matplotlib is not installed.
    """
    figure = figure_class()(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    size_unit, size = unit_of(course.peak, BYTE_UNITS)
    time_unit, length = unit_of(course.end, TIME_UNITS) if course.is_timed else ("", 1.0)
    points = list(course.curve())
    times = [time / length for time, _ in points]
    columns = [[held[k] / size for _, held in points] for k in range(len(course.arrays))]
    labels = [f"{a.title}, {in_bytes(a.bytes)}" for a in course.arrays[:LISTED]]
    layers, rest = columns[:LISTED], columns[LISTED:]
    if rest:
        layers.append([sum(values) for values in zip(*rest, strict=True)])
        labels.append(f"{len(rest)} more, {in_bytes(sum(a.bytes for a in course.arrays[LISTED:]))}")
    if layers:
        axes.stackplot(times, layers, labels=labels)
        handles, names = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], names[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    axes.axvline(course.turn / length, color="black", linewidth=0.8, linestyle="--")
    axes.set_title(
        f"{course.function}: {in_bytes(course.peak)} at most; forward sweep, then reverse sweep", fontsize=10
    )
    axes.set_xlabel(f"predicted time, {time_unit}" if course.is_timed else "outermost statements of the sweeps")
    axes.set_ylabel(size_unit)
    axes.set_xlim(0.0, max(course.end, 1e-9) / length)
    axes.set_ylim(bottom=0.0)
    return figure


def figure_class() -> Any:
    """Matplotlib's class of figures, without its functions that keep windows."""
    try:
        return import_module("matplotlib.figure").Figure
    except ImportError as error:
        message = "figures are drawn by matplotlib, and that is not installed"
        raise BackendError(reject("LD611", message, NOWHERE)) from error


def unit_of(most: float, units: tuple[tuple[str, float], ...]) -> tuple[str, float]:
    """The largest unit that `most` has at least one of, else the smallest."""
    return next((unit for unit in units if most >= unit[1]), units[-1])


def in_bytes(size: int) -> str:
    """A number of bytes with three digits that count."""
    unit, one = unit_of(size, BYTE_UNITS)
    return f"{size / one:.3g} {unit}"
