"""How the parameters of the reverse sweep meet the buffers of its foreign call, and derivatives by halves those of
float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax.interpreters import ad

from loopdiff.calls.runs import ReverseRun
from loopdiff.ir.types import HALVES
from loopdiff.ir.walk import written_arrays
from loopdiff.jax.batches import Marks, call_batch, levels
from loopdiff.jax.calls import (
    ForeignCall,
    LoopCode,
    Wiring,
    declaration,
    needed_arrays,
    port_of,
    scalar_kind,
    scalar_port,
)
from loopdiff.jax.extents import Shape
from loopdiff.jax.ports import Port


class ReversePlan:
    """The reverse sweep of `run` as a foreign call, from values by name to results by name.

    `written` are the arrays that the function writes, `kept` those that the forward sweep gives; `shapes` are of these
    and of arguments. `statics` are integers that are known.
    """

    def __init__(
        self, run: ReverseRun, written: Sequence[str], kept: Sequence[str], shapes: Mapping[str, Shape],
        statics: Mapping[str, int],
    ) -> None:  # fmt: skip
        self.run, self.written, self.kept, self.shapes = run, written, kept, shapes
        self.normal, self.ls = run.spec.normal, run.units.plan.reverse
        self.buffers = {buffer: argument for argument, buffer in run.buffers.items()}
        self.wiring = Wiring()
        self.scalars = [s.name for s in self.normal.scalars if s.name in run.spec.wrt]
        for name in self.scalars:
            self.wiring.result(scalar_port(f"slope {name}", scalar_kind(self.normal.scalar(name))))
        touched, needed = written_arrays(self.ls.body), needed_arrays(self.ls)
        for name in self.ls.params:
            self.wire(name, is_written=name in touched, is_needed=name in needed)
        code = LoopCode(
            run.spec, run.spec.of_wrt(f"reverse {run.label}"), self.ls, lambda: run.units.reverse, self.ls
        )  # fmt: skip
        self.call = ForeignCall(self.wiring, code, range(len(self.scalars)), statics)

    def wire(self, name: str, *, is_written: bool, is_needed: bool) -> None:
        """Arguments are passed on even where only their shapes matter."""
        ls, arguments = self.ls, self.normal.params
        port = port_of(declaration(ls, name))
        if name in self.buffers:
            argument = self.buffers[name]
            if argument in self.written:
                self.wiring.update(port)
            else:
                self.wiring.write(port, is_zeroed=True)
        elif not ls.has_array(name):
            self.wiring.read(port)
        elif name in self.run.seed_names:
            self.pass_on(port, is_written)
        elif not is_needed and name not in arguments:
            self.wiring.skip(port)
        elif ls.array(name).role == "adjoint" or (name not in arguments and name not in self.kept):
            self.wiring.write(port, is_zeroed=False, is_seen=False)
        else:
            self.pass_on(port, is_written)

    def pass_on(self, port: Port, is_written: bool) -> None:
        """An operand, whose memory the loops may use."""
        if is_written:
            self.wiring.update(port, is_seen=False)
        else:
            self.wiring.read(port)

    def __call__(
        self, values: Mapping[str, Any], marks: Mapping[str, Marks], wanted: Mapping[str, Marks]
    ) -> dict[str, Any]:
        """The results for values that are marked for batches; gradients have the axes that are `wanted`."""
        names = [p.name for p in self.wiring.operands]
        axes = {self.buffer_of(n): own for n, own in wanted.items()}
        nothing = tuple(False for _ in range(levels([marks[n] for n in names])))
        scratch = {p.name: nothing for p in self.wiring.results if p.name not in self.buffers and p.name not in axes}
        shapes = {p.name: self.shape_of(p.name) for p in self.call.results}
        return call_batch(
            self.call, [values[n] for n in names], [marks[n] for n in names], shapes, {**scratch, **axes}
        )  # fmt: skip

    def buffer_of(self, name: str) -> str:
        """The result that is the gradient by an argument."""
        return f"slope {name}" if name in self.scalars else self.run.buffers[name]

    def shape_of(self, name: str) -> Shape:
        if name.startswith("slope "):
            return ()
        if name in self.run.seed_names:
            return self.shapes[name.removesuffix("_adj")]
        return self.shapes[self.buffers.get(name, name)]

    def arriving(self, cotangents: Sequence[Any]) -> dict[str, Any]:
        """Seeds of floating results, and cotangents of written floating arrays, by parameter name.

        `cotangents` are those of the floating outputs.
        """
        floating = (n for n in self.written if scalar_kind(self.normal.array(n)).is_float)
        names = (*self.run.seed_names, *(self.run.buffers[n] for n in floating))
        return dict(zip(names, cotangents, strict=True))


def widened_slope(value: Any) -> Any:
    """A derivative by a half, or one that JAX knows to be zero, for the loops. What is none, as marks are, stays."""
    if is_known_zero(value):
        kind: Any = value.aval
        return ad.Zero(kind.update(dtype=np.dtype(np.float32))) if str(kind.dtype) in HALVES else value
    return value.astype(np.float32) if str(getattr(value, "dtype", "")) in HALVES else value


def rounded_slope(value: Any, dtype: Any) -> Any:
    """A derivative that the loops gave, rounded once where JAX has a half for it."""
    return value if is_known_zero(value) or value.dtype == dtype else value.astype(dtype)


def is_known_zero(value: Any) -> bool:
    """Whether JAX knows a derivative to be zero."""
    return isinstance(value, ad.Zero)
