"""How long compiled sweeps take, measured on copies: the caller's arrays stay as they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from loopdiff.calls.runs import Arguments, ReverseRun, with_copies_of_written
from loopdiff.calls.sweep_entry_points import pull_function
from loopdiff.ir.types import ArrayType
from loopdiff.rules.printing import silent
from loopdiff.specialize.results import is_floating

Shapes = dict[str, tuple[int, ...]]
ROUNDS = 5
BUDGET = 0.2


def shapes_of(run: ReverseRun, args: Arguments) -> Shapes:
    """Shapes of all arrays that the sweeps are given, by the names of their parameters."""
    names = run.spec.normal.params
    found = {n: a.shape for n, a in zip(names, args, strict=True) if isinstance(a, np.ndarray)}
    buffers = {buffer: found[name] for name, buffer in run.buffers.items()}
    kept = zip(run.units.plan.forward.params[run.count_args :], run.sizes(args), strict=False)
    return {**found, **buffers, **dict(kept)}


def time_sweeps(
    run: ReverseRun, args: Arguments, rounds: int = ROUNDS, budget: float = BUDGET
) -> tuple[float, float]:  # fmt: skip
    """Seconds that each sweep takes, the least of `rounds` runs in turn, or of fewer once they took `budget` seconds.

    Raises ArgumentError where the function does.
    """
    spec, own, pull = run.spec, with_copies_of_written(run.spec, args), pull_function(run)
    workspace = run.take(args)
    arrays = workspace.arrays[: run.workspace_size]
    written = [i for i, name in enumerate(spec.normal.params) if name in spec.written]
    ones = {i: np.ones(args[i].shape, args[i].dtype) for r in run.recipes if (i := r.position) in written}
    forward, reverse = [], []
    for number in range(rounds + 1):
        for i in written:
            np.copyto(own[i], args[i])
        value, took = timed(run.units.forward.run, *own, *arrays)
        forward.append(took)
        _, took = timed(pull, workspace.arrays, seeds_of(run, value), ones, *own)
        reverse.append(took)
        if number and sum(forward) + sum(reverse) > budget:
            break
    run.arena.give(workspace)
    return min(forward[1:]), min(reverse[1:])


def timed(call: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    with silent():
        start = time.perf_counter()
        value = call(*args)
        return value, time.perf_counter() - start


def seeds_of(run: ReverseRun, value: Any) -> list[Any]:
    """Ones for each floating result of the forward sweep."""
    values = value if isinstance(value, tuple) else (value,)
    found = zip(run.kinds, values, strict=False)
    return [
        np.ones(v.shape, v.dtype) if isinstance(k, ArrayType) else np.dtype(k.value).type(1.0)
        for k, v in found
        if is_floating(k)
    ]
