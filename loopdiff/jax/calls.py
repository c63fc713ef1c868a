"""Which buffers a foreign call has: operands, results and aliases of the forward and the reverse sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from threading import RLock
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from loopdiff.cache.keys import digest_of
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ScalarType
from loopdiff.ir.walk import all_statements, expressions, returned_arrays, subexprs, touched_arrays
from loopdiff.jax.extents import Shape, known_extent
from loopdiff.jax.handlers import register, target_name
from loopdiff.jax.manual import structs_like
from loopdiff.jax.partitioning import ALONE, SPLITTING, Layout, partitioned
from loopdiff.jax.ports import Handler, HandlerArgument, Port
from loopdiff.pipeline.code import numba_type
from loopdiff.pipeline.derive import arrange_primal_rows, derive_batch, derive_part, with_results_given
from loopdiff.settings.requests import NOTHING
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import Unit

if TYPE_CHECKING:
    from loopdiff.analysis.split_axes import SplitAxis
    from loopdiff.canonical.batching import Batch

SCALAR_DTYPES = {
    ScalarType.BOOL: "bool", ScalarType.INT: "int64", ScalarType.F32: "float32", ScalarType.F64: "float64"
}  # fmt: skip


def declaration(ls: ir.LoopSet, name: str) -> ir.ArrayDecl | ir.ScalarDecl:
    return ls.array(name) if ls.has_array(name) else ls.scalar(name)


def scalar_kind(decl: ir.ArrayDecl | ir.ScalarDecl) -> ScalarType:
    kind = decl.type if isinstance(decl, ir.ScalarDecl) else None if decl.type is None else decl.type.element
    assert kind is not None
    return kind


def needed_arrays(ls: ir.LoopSet) -> frozenset[str]:
    """Arrays that have to be there: those that are touched or returned, and those whose shapes alone are asked for."""
    asked = [*expressions(ls), *(e for a in ls.arrays for e in a.extents or () if a.name not in ls.params)]
    measured = {e.array for expr in asked for e in subexprs(expr) if isinstance(e, ir.Dim)}
    return touched_arrays(ls.body) | returned_arrays(ls) | measured


def setting(name: str) -> Any:
    """One of JAX's settings, as it is where a call is traced."""
    return getattr(jax.config, name)


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
    """Collects the buffers of one foreign call; `aliases` maps operand numbers to result numbers, and nobody looks at
    the results that are `unseen`, by number."""

    operands: list[Port] = field(default_factory=list)
    results: list[Port] = field(default_factory=list)
    arguments: list[HandlerArgument] = field(default_factory=list)
    aliases: dict[int, int] = field(default_factory=dict)
    unseen: set[int] = field(default_factory=set)

    def read(self, port: Port) -> None:
        """A parameter that is an operand."""
        self.arguments.append(HandlerArgument(port, operand=self.operand(port)))

    def write(self, port: Port, *, is_zeroed: bool, is_seen: bool = True) -> int:
        """A parameter that is a result."""
        number = self.result(port, is_seen)
        self.arguments.append(HandlerArgument(port, result=number, is_zeroed=is_zeroed))
        return number

    def update(self, port: Port, *, is_seen: bool = True) -> int:
        """A parameter that starts as an operand and ends as a result."""
        number, operand = self.result(port, is_seen), self.operand(port)
        self.aliases[operand] = number
        self.arguments.append(HandlerArgument(port, operand=operand, result=number))
        return number

    def skip(self, port: Port) -> None:
        """A parameter that the code never touches."""
        self.arguments.append(HandlerArgument(port))

    def operand(self, port: Port) -> int:
        self.operands.append(port)
        return len(self.operands) - 1

    def result(self, port: Port, is_seen: bool = True) -> int:
        self.results.append(port)
        number = len(self.results) - 1
        if not is_seen:
            self.unseen.add(number)
        return number


@immutable
class LoopCode:
    """The LoopSet `ls` behind a foreign call, of the specialization `spec` under the name `label`.

    `unit` is its compiled function, which there may be already, `plain` the same before its loops were arranged.
    """

    spec: Specialization
    label: str
    ls: ir.LoopSet
    unit: Callable[[], Unit]
    plain: ir.LoopSet

    def batched(self, batch: Batch) -> LoopCode:
        """The same for a batch."""
        plain = derive_batch(with_results_given(self.plain), batch, self.spec.stages)
        return self.rewritten(f"batch-{digest_of([batch.key])[:12]}", plain)

    def part(self, axes: Sequence[SplitAxis]) -> LoopCode:
        """The same for a part of the elements along `axes`."""
        before = with_results_given(self.plain)
        plain = derive_part(before, axes, self.spec.stages)
        if plain == before:
            return self
        named = [repr((sorted(axis.apart), axis.extent)) for axis in axes]
        return self.rewritten(f"part-{digest_of(named)[:12]}", plain)

    def rewritten(self, suffix: str, plain: ir.LoopSet) -> LoopCode:
        """The code of `plain`, in the form for callers that own all arrays."""
        spec, label = self.spec, f"{self.label}-{suffix}"
        is_arranged = spec.options.fastmath and spec.options.is_for_cpu
        ls = arrange_primal_rows(plain, NOTHING, spec.stages) if is_arranged else plain
        whole = with_results_given(ls)
        return LoopCode(spec, label, whole, lambda: spec.unit(label, whole, NOTHING), plain)


class ForeignCall:
    """A call of a compiled function, which is compiled and registered when code is made that calls it.

    Called with operands and the results' shapes. `returns` are the places of the function's results among those of
    the call, `statics` integers that are known.
    """

    def __init__(
        self, wiring: Wiring, code: LoopCode, returns: Sequence[int | None], statics: Mapping[str, int]
    ) -> None:  # fmt: skip
        self.wiring, self.code, self.returns, self.statics = wiring, code, tuple(returns), statics
        self.operands, self.results = tuple(wiring.operands), tuple(wiring.results)
        self.lock = RLock()
        self.batches: dict[Any, ForeignCall] = {}
        self.parts: dict[tuple[SplitAxis, ...], ForeignCall] = {}

    def __call__(self, operands: Sequence[Any], shapes: Sequence[Shape]) -> tuple[Any, ...]:
        may_split = SPLITTING.get() and self.code.spec.options.is_for_cpu
        axes = self.split_axes([v.shape for v in operands], shapes) if may_split else ()
        if not axes:
            return self.here(operands, shapes)
        return partitioned(
            self.here, lambda chosen: self.part(tuple(axes[k] for k in chosen)).here,
            operands, shapes, self.layout(axes),
        )  # fmt: skip

    def here(self, operands: Sequence[Any], shapes: Sequence[Shape]) -> tuple[Any, ...]:
        """The call itself, on one device."""
        kinds = [
            jax.ShapeDtypeStruct(shape, np.dtype(port.dtype)) for port, shape in zip(self.results, shapes, strict=True)
        ]
        with self.lock:
            target = self.target
        # XLA knows results without elements, and would not run what raises for such arrays; nor what gives nothing.
        seen = (shape for number, shape in enumerate(shapes) if number not in self.wiring.unseen)
        is_empty = any(isinstance(extent, int) and extent == 0 for shape in seen for extent in shape)
        has_effect = (ALONE.get() and is_empty) or not shapes
        call = jax.ffi.ffi_call(
            target, structs_like(kinds, operands), vmap_method="sequential",
            input_output_aliases=dict(self.wiring.aliases), has_side_effect=has_effect,
        )  # fmt: skip
        return tuple(call(*operands))

    # -- on several devices ----------------------------------------------------------------------------------
    @cached_property
    def names(self) -> tuple[list[str], list[str]]:
        """The parameters that operands and results carry; nothing for a number that is returned."""
        of_operands = {a.operand: a.port.name for a in self.wiring.arguments}
        of_results = {a.result: a.port.name for a in self.wiring.arguments}
        numbers = range(len(self.operands)), range(len(self.results))
        return [of_operands[n] for n in numbers[0]], [of_results.get(n, "") for n in numbers[1]]

    def split_axes(self, given: Sequence[Shape], made: Sequence[Shape]) -> tuple[SplitAxis, ...]:
        """The ways to split the call with operands and results of these shapes."""
        from loopdiff.analysis.split_axes import find_split_axes

        operands, results = self.names
        ls = with_results_given(self.code.plain)
        shapes = dict(zip((*results, *operands), (*made, *given), strict=True))
        known = partial(known_extent, statics=self.statics, dims={n: s for n, s in shapes.items() if ls.has_array(n)})
        unseen = frozenset(results[n] for n in self.wiring.unseen)
        found = find_split_axes(ls, known, frozenset(operands), unseen)
        return tuple(axis for axis in found if any(a in operands for a, _ in axis.apart))

    def layout(self, axes: Sequence[SplitAxis]) -> Layout:
        """What of each operand and result is split along which of `axes`, and what is summed."""
        place = {node: k for k, axis in enumerate(axes) for node in axis.apart}

        def of(names: Sequence[str], ports: Sequence[Port]) -> tuple[tuple[int | None, ...], ...]:
            each = zip(names, ports, strict=True)
            return tuple(tuple(place.get((n, k)) for k in range(port.rank)) for n, port in each)

        operands, results = self.names
        summed = [{*axis.sums, *(f"result {self.returns[n]}" for n in axis.results)} for axis in axes]
        buffers = (name or f"result {number}" for number, name in enumerate(results))
        sums = tuple(frozenset(k for k, own in enumerate(summed) if name in own) for name in buffers)
        extents = tuple(axis.extent for axis in axes)
        return Layout(of(operands, self.operands), of(results, self.results), sums, extents)

    def part(self, axes: tuple[SplitAxis, ...]) -> ForeignCall:
        """The call for a part of the elements along `axes`, made once."""
        with self.lock:
            if axes not in self.parts:
                code = self.code.part(axes)
                self.parts[axes] = self if code is self.code else self.with_code(code)
            return self.parts[axes]

    def with_code(self, code: LoopCode) -> ForeignCall:
        """A call with the same buffers."""
        before = {a.port.name: a for a in self.wiring.arguments}
        wiring = replace(self.wiring, arguments=[before[name] for name in code.ls.params])
        return ForeignCall(wiring, code, self.returns, self.statics)

    # -- where its code is -----------------------------------------------------------------------------------
    @cached_property
    def target(self) -> str:
        """Where its handlers are registered: that of the CPU, that of the GPU, or both."""
        unit, wiring = self.code.unit(), self.wiring
        spec = self.code.spec
        options = spec.options
        ls = unit.ls
        handler = Handler(
            ls.name, unit.dispatcher, self.operands, self.results, tuple(wiring.arguments), self.returns,
            ls.returns_tuple and bool(ls.results), complaint_of(ls),
            types=tuple(numba_type(ls, name) for name in ls.params),
        )  # fmt: skip
        key = spec.program.key if spec.program.identity.has_rules_of(ls) else None
        target = target_name(handler, (key, self.code.label, unit.function.source))
        if options.target != "cuda":
            register(handler, target, "cpu")
        if options.target == "cuda" or jax.default_backend() == "gpu":
            from loopdiff.jax.on_device import PLATFORM, device_handler

            register(device_handler(unit, options, handler, self.statics), target, PLATFORM)
        return target


def complaint_of(ls: ir.LoopSet) -> str:
    """What an error of the compiled function means: the conditions it checks, and arrays that are too large."""
    checks = [s for s in all_statements(ls.body) if isinstance(s, ir.Require)]
    found: dict[str, None] = dict.fromkeys(f"{c.code}: {c.said}" for c in checks)
    own = [f"`{a.name}`" for a in ls.arrays if a.name not in ls.params and a.type is not None and a.type.rank]
    if own:
        found[f"LD610: there is not enough memory for {', '.join(own)}"] = None
    text = "; or ".join(found) or "an operation that has no result"
    return f"loopdiff: `{ls.name}` stopped: {text}"[:2000]
