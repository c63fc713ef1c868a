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
        self.takers = {name: recipe.position for name, recipe in run.takers.items()}


class Kept:
    """One point: the arguments as the forward sweep left them, and its workspace."""

    def __init__(self, sweeps: BareSweeps, args: Values, workspace: Workspace | None, shapes: Sequence[Shape]) -> None:
        """`shapes` are those of the floating results."""
        run = sweeps.run
        self.sweeps, self.args, self.workspace, self.shapes = sweeps, args, workspace, shapes
        self.arrays = () if workspace is None else workspace.arrays
        self.pristine = [(i, run.memory.copy(self.arrays[i])) for i in run.worn]
        self.lock = Lock()

    def pull(self, seeds: Values, cotangents: dict[str, Any]) -> Any:
        """Gradients in `wrt` order: for a seed per floating result, None for zero, and for cotangents of arrays that
        are written, by name."""
        sweeps = self.sweeps
        run, ready = sweeps.run, list(map(as_seed, sweeps.kinds, seeds, self.shapes))
        given = {sweeps.takers[n]: value for n, value in cotangents.items() if n in sweeps.takers}
        with self.lock:
            for i, saved in self.pristine:
                run.memory.cast(saved, saved.dtype, run.arena.orders[i], self.arrays[i])
            return sweeps.pull(self.arrays, ready, given, *self.args)

    def __del__(self) -> None:
        workspace = getattr(self, "workspace", None)
        if workspace is not None:
            self.sweeps.run.arena.give(workspace)


def as_seed(kind: ScalarType | ArrayType, value: Any, shape: Shape) -> Any:
    """A seed as the reverse sweep takes it, which may write into it."""
    if isinstance(kind, ArrayType):
        return np.zeros(shape, kind.dtype) if value is None else np.array(value, kind.dtype, order="C")
    number = 0.0 if value is None else value
    return np.float32(number) if kind is ScalarType.F32 else float(number)
