"""What plain Python says of a program and of its slopes, for functions that dual numbers do not know: differences."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from loopdiff.fuzz.engines import Values, deep_copied, named
from loopdiff.fuzz.program import ProgramSizes, RandomProgram

STEP = 1e-5
AGREEMENT = 1e-5  # of differences over one step and over two, relative to the largest of all


def outputs_at(program: RandomProgram, sizes: ProgramSizes, step: float) -> Values:
    """What the program returns and leaves behind, its arguments moved by `step` along the directions."""
    along, args = program.directions(sizes), deep_copied(program.values(sizes))
    for name, direction in along.items():
        args[name] += step * direction
    results = program.function()(*args.values())
    return named(results, args, frozenset(n for n, v in args.items() if isinstance(v, np.ndarray)))


def slopes_by_differences(program: RandomProgram, sizes: ProgramSizes) -> Values | None:
    """The slopes of floating outputs along the directions; None where there is a kink or a step nearby."""
    near, far = (difference(program, sizes, step) for step in (STEP, 2.0 * STEP))
    if near is None or far is None:
        return None
    largest = max((float(np.max(np.abs(v), initial=0.0)) for v in near.values()), default=0.0)
    agree = (np.allclose(v, far[n], rtol=AGREEMENT, atol=AGREEMENT * (1.0 + largest)) for n, v in near.items())
    return near if all(agree) else None


class Steady:
    """NumPy, with equal elements in the order in which they came, where `np.argsort` finds one."""

    def __getattr__(self, name: str) -> Any:
        return partial(np.argsort, kind="stable") if name == "argsort" else getattr(np, name)


def has_ties(program: RandomProgram, sizes: ProgramSizes, outputs: Values) -> bool:
    """Whether the `outputs` depend on the order in which NumPy leaves equal elements, which it does not promise."""
    function: Any = program.function()
    function.__globals__["np"] = Steady()
    args = program.values(sizes)
    found = named(function(*args.values()), args, frozenset(outputs))
    return not all(np.array_equal(v, found[n], equal_nan=n in floats(outputs)) for n, v in outputs.items())


def difference(program: RandomProgram, sizes: ProgramSizes, step: float) -> Values | None:
    """The central difference of every floating output; None where others of them change, or shapes do."""
    after, before = outputs_at(program, sizes, step), outputs_at(program, sizes, -step)
    return {n: (v - before[n]) / (2.0 * step) for n, v in floats(after).items()} if same(after, before) else None


def floats(outputs: Mapping[str, Any]) -> Values:
    return {n: np.asarray(v) for n, v in outputs.items() if np.asarray(v).dtype.kind in "fc"}


def same(after: Values, before: Values) -> bool:
    """Whether outputs that are no floats are the same, and the others of the same shapes."""
    others = (n for n in after if n not in floats(after))
    is_steady = all(np.array_equal(after[n], before[n]) for n in others)
    return is_steady and all(np.shape(v) == np.shape(before[n]) for n, v in after.items())
