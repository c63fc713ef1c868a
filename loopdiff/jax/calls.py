"""Which buffers a foreign call has: operands, results and aliases of the forward and the reverse sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import Any

import jax
import numpy as np

from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ScalarType
from loopdiff.ir.walk import statements
from loopdiff.jax.handlers import register, target_name
from loopdiff.jax.ports import Handler, HandlerArgument, Port
from loopdiff.pipeline.code import numba_type
from loopdiff.settings.options import Options
from loopdiff.specialize.units import Unit

SCALAR_DTYPES = {
    ScalarType.BOOL: "bool", ScalarType.INT: "int64", ScalarType.F32: "float32", ScalarType.F64: "float64"
}  # fmt: skip


def declaration(ls: ir.LoopSet, name: str) -> ir.ArrayDecl | ir.ScalarDecl:
    return ls.array(name) if ls.has_array(name) else ls.scalar(name)


def scalar_kind(decl: ir.ArrayDecl | ir.ScalarDecl) -> ScalarType:
    kind = decl.type if isinstance(decl, ir.ScalarDecl) else None if decl.type is None else decl.type.element
    assert kind is not None
    return kind


def canonical(dtype: str) -> str:
    """The dtype JAX has for `dtype`: without `jax_enable_x64` the 32-bit one."""
    return str(jax.dtypes.canonicalize_dtype(np.dtype(dtype)))


def port_of(decl: ir.ArrayDecl | ir.ScalarDecl) -> Port:
    if isinstance(decl, ir.ScalarDecl):
        assert decl.type is not None
        return Port(decl.name, "scalar", canonical(SCALAR_DTYPES[decl.type]), 0)
    assert decl.type is not None
    return Port(decl.name, "array", decl.type.dtype, decl.type.rank)


def scalar_port(name: str, kind: ScalarType) -> Port:
    return Port(name, "scalar", canonical(SCALAR_DTYPES[kind]), 0)


@dataclass(slots=True)
class Wiring:
    """Collects the buffers of one foreign call; `aliases` maps operand numbers to result numbers."""

    operands: list[Port] = field(default_factory=list)
    results: list[Port] = field(default_factory=list)
    arguments: list[HandlerArgument] = field(default_factory=list)
    aliases: dict[int, int] = field(default_factory=dict)

    def read(self, port: Port) -> None:
        """A parameter that is an operand."""
        self.arguments.append(HandlerArgument(port, operand=self.operand(port)))

    def write(self, port: Port, *, is_zeroed: bool) -> int:
        """A parameter that is a result."""
        number = self.result(port)
        self.arguments.append(HandlerArgument(port, result=number, is_zeroed=is_zeroed))
        return number

    def update(self, port: Port) -> int:
        """A parameter that starts as an operand and ends as a result."""
        number, operand = self.result(port), self.operand(port)
        self.aliases[operand] = number
        self.arguments.append(HandlerArgument(port, operand=operand, result=number))
        return number

    def skip(self, port: Port) -> None:
        """A parameter that the code never touches."""
        self.arguments.append(HandlerArgument(port))

    def operand(self, port: Port) -> int:
        self.operands.append(port)
        return len(self.operands) - 1

    def result(self, port: Port) -> int:
        self.results.append(port)
        return len(self.results) - 1


class ForeignCall:
    """A call of a compiled function, which is compiled and registered when code is made that calls it.

    Called with operands and the results' shapes. `returns` are the places of the function's results among those of
    the call, `statics` integers that are known.
    """

    def __init__(
        self, wiring: Wiring, unit: Callable[[], Unit], options: Options, returns: Sequence[int | None],
        statics: Mapping[str, int],
    ) -> None:  # fmt: skip
        self.wiring, self.unit, self.options, self.returns, self.statics = wiring, unit, options, returns, statics
        self.results = tuple(wiring.results)
        self.lock = RLock()

    def __call__(self, operands: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> tuple[Any, ...]:
        kinds = [
            jax.ShapeDtypeStruct(shape, np.dtype(port.dtype)) for port, shape in zip(self.results, shapes, strict=True)
        ]
        with self.lock:
            target = self.target
        aliases = dict(self.wiring.aliases)
        call = jax.ffi.ffi_call(target, kinds, vmap_method="sequential", input_output_aliases=aliases)
        return tuple(call(*operands))

    @cached_property
    def target(self) -> str:
        """Where its handlers are registered: that of the CPU, that of the GPU, or both."""
        unit, wiring, options = self.unit(), self.wiring, self.options
        ls = unit.ls
        handler = Handler(
            ls.name, unit.dispatcher, tuple(wiring.operands), tuple(wiring.results), tuple(wiring.arguments),
            tuple(self.returns), ls.returns_tuple and bool(ls.results), complaint_of(ls),
            types=tuple(numba_type(ls, name) for name in ls.params),
        )  # fmt: skip
        target = target_name(handler)
        if options.target != "cuda":
            register(handler, target, "cpu")
        if options.target == "cuda" or jax.default_backend() == "gpu":
            from loopdiff.jax.on_device import PLATFORM, device_handler

            register(device_handler(unit, options, handler, self.statics), target, PLATFORM)
        return target


def complaint_of(ls: ir.LoopSet) -> str:
    """What an error of the compiled function means: the conditions it checks, and arrays that are too large."""
    checks = [s.stmt for s in statements(ls.body) if isinstance(s.stmt, ir.Require)]
    found: dict[str, None] = dict.fromkeys(f"{c.code}: {c.said}" for c in checks)
    own = [f"`{a.name}`" for a in ls.arrays if a.name not in ls.params and a.type is not None and a.type.rank]
    if own:
        found[f"LD610: there is not enough memory for {', '.join(own)}"] = None
    text = "; or ".join(found) or "an operation that has no result"
    return f"loopdiff: `{ls.name}` stopped: {text}"[:2000]
