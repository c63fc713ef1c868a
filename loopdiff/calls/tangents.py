"""Forward mode on a caller's arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from loopdiff.calls.runs import caller_results, memory_of, own_result
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.ir.names import tail_names
from loopdiff.ir.types import ArrayType
from loopdiff.specialize.gradients import checked_array, checked_scalar, record_type
from loopdiff.specialize.interface import in_half, in_parts
from loopdiff.specialize.results import is_floating
from loopdiff.specialize.specialization import Specialization

Arguments = tuple[Any, ...]


class TangentRun:
    """The tangent function of one specialization."""

    def __init__(self, spec: Specialization) -> None:
        self.spec, self.unit, self.ls = spec, spec.tangent, spec.normal
        params = self.ls.params
        self.interface = spec.interface
        self.buffers = tail_names(self.unit.ls.params[len(params) :], params, "_tan")
        self.inputs = self.interface.gathered(tuple(self.buffers))
        self.outputs = tuple(n for n in self.inputs if n in spec.written)
        names = ("result", *self.outputs) if spec.result_types else self.outputs
        self.record = record_type("Tangents", names)

    def jvp(self, args: Arguments, directions: Mapping[str, Any]) -> tuple[Any, Any]:
        """Result, and tangents of the result and of every written array, along `directions`.

        Raises ArgumentError: LD343 for the name of something that is not differentiated, LD344 for a
        direction that does not fit.
        """
        if not isinstance(directions, Mapping):
            message = f"the directions are a {type(directions).__name__}, not a mapping"
            raise ArgumentError(reject("LD344", message, NOWHERE, "pass them by name: `dict(x=x_tangent)`"))
        for name in directions:
            if name not in self.inputs:
                known = ", ".join(f"`{n}`" for n in self.inputs)
                message = f"`{name}` has no direction in `{self.ls.name}`; these have: {known}"
                raise ArgumentError(reject("LD343", message, NOWHERE))
        buffers = {n: self.direction(n, args, directions.get(n)) for n in self.inputs}
        types = self.interface.types
        values = self.unit.run(*args, *(part for n, b in buffers.items() for part in in_parts(types[n], b)))
        values = values if isinstance(values, tuple) else () if values is None else (values,)
        count = len(self.spec.result_types)
        results = caller_results(self.spec, values[:count])
        slopes = list(values[count:])
        tangents: list[Any] = []
        if count:
            each = tuple(own_result(k, slopes.pop(0)) if is_floating(k) else None for k in self.spec.result_types)
            tangents.append(self.spec.own_result(each))
        tangents += [in_half(types[n], buffers[n]) for n in self.outputs]
        return results, tuple.__new__(self.record, tangents)

    def direction(self, name: str, args: Arguments, given: Any) -> Any:
        """The tangent of argument `name`, an array in a buffer of its own: a copy of the direction, or zero."""
        what, kind = f"the direction of `{name}`", self.interface.types[name]
        if not isinstance(kind, ArrayType):
            (value,) = memory_of(self.spec.options).readable((0.0 if given is None else given,))
            return checked_scalar(what, kind, value, "LD344")
        shape = args[self.ls.params.index(name)].shape[: kind.rank]
        declared = self.unit.ls.array(self.buffers[name]).type
        assert declared is not None
        dtype, order = np.dtype(kind.slope.dtype), "F" if declared.layout == "F" else "C"
        memory = memory_of(self.spec.options)
        if given is None:
            return memory.zeros(shape, dtype, order, math.prod(shape) * dtype.itemsize)
        return memory.cast(checked_array(what, kind, shape, given, "LD344"), dtype, order, None)


def tangent_run(spec: Specialization) -> TangentRun:
    """The tangent function of `spec`, compiled at its first use."""
    return spec.once("tangent run", lambda: TangentRun(spec))
