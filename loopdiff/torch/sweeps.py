"""Both sweeps of a specialization on prepared arguments, with what stays between them.

As `calls.pullback` without the marks: PyTorch counts the versions of what is needed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from loopdiff.calls.runs import ReverseRun
from loopdiff.calls.sweep_entry_points import add_forward, pull_function
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.ir.walk import written_arrays
from loopdiff.memory.arena import Workspace
from loopdiff.specialize.entry_points import Script
from loopdiff.specialize.results import is_floating

Values = Sequence[Any]
Shape = tuple[int, ...]


class BareSweeps:
    """The sweeps of `run`. `forward(*args)` gives what compiled code returns, and the workspace."""

    def __init__(self, run: ReverseRun) -> None:
        self.run = run
        script = Script.of_prepared(run.count_args)
        script.needs = run.needs
        add_forward(script, run)
        script.add(f"return value, {'workspace' if run.arena.decls else 'None'}")
        self.forward = script.define("forward")
        self.pull = pull_function(run)
        names = self.pull.__globals__
        if "in_one_piece" in names:  # complex values stay apart here
            names["in_one_piece"] = lambda record: record
        self.kinds = [k for k in run.kinds if is_floating(k)]
        touched = written_arrays(run.units.plan.reverse.body)
        self.copied = [n in touched for n in run.seed_names]  # seeds that the reverse sweep works in
        self.takers = {name: recipe.position for name, recipe in run.takers.items()}


class KeptPoint:
    """One point: the arguments as the forward sweep left them, and its workspace."""

    __slots__ = ("args", "arrays", "lock", "pristine", "shapes", "sweeps", "workspace")

    def __init__(self, sweeps: BareSweeps, args: Values, workspace: Workspace | None, shapes: Sequence[Shape]) -> None:
        """`shapes` are those of the floating results."""
        run = sweeps.run
        self.sweeps, self.args, self.workspace, self.shapes = sweeps, args, workspace, shapes
        self.arrays = () if workspace is None else workspace.arrays
        self.pristine = [(i, run.memory.copy(self.arrays[i])) for i in run.worn] if run.worn else ()
        self.lock = Lock()

    def pull(self, seeds: Values, cotangents: dict[str, Any]) -> Any:
        """Gradients in `wrt` order: for a seed per floating result, None for zero, and for cotangents of arrays that
        are written, by name."""
        sweeps = self.sweeps
        ready = list(map(as_seed, sweeps.kinds, seeds, self.shapes, sweeps.copied))
        return self.pull_ready(ready, {sweeps.takers[n]: c for n, c in cotangents.items() if n in sweeps.takers})

    def pull_ready(self, seeds: Values, given: dict[int, Any]) -> Any:
        """The same for seeds as compiled code takes them, and cotangents by position."""
        run = self.sweeps.run
        with self.lock:
            for i, saved in self.pristine:
                run.memory.cast(saved, saved.dtype, run.arena.orders[i], self.arrays[i])
            return self.sweeps.pull(self.arrays, seeds, given, *self.args)

    def __del__(self) -> None:
        workspace = getattr(self, "workspace", None)
        if workspace is not None:
            self.sweeps.run.arena.give(workspace)


def as_seed(kind: ScalarType | ArrayType, value: Any, shape: Shape, is_copied: bool) -> Any:
    """A seed as the reverse sweep takes it: a copy if that works in it."""
    if isinstance(kind, ArrayType):
        if value is None:
            return np.zeros(shape, kind.slope.dtype)
        dtype = kind.slope.dtype
        return np.array(value, dtype, order="C") if is_copied else np.ascontiguousarray(value, dtype)
    number = 0.0 if value is None else value
    return np.float32(number) if kind is ScalarType.F32 else float(number)
