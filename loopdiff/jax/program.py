"""One combination of types, shapes and static integers: foreign calls of its sweeps, what they take and give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from threading import RLock
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from loopdiff.calls.runs import ReverseRun, limit_of, sweeps_of
from loopdiff.canonical.batching import Batch
from loopdiff.errors import NOWHERE, ArgumentError, DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import tail_names
from loopdiff.ir.types import ELEMENT_TYPES, ArrayType, ScalarType
from loopdiff.ir.walk import returned_arrays, touched_arrays
from loopdiff.jax.batches import Marks, call_batch, levels, unmarked
from loopdiff.jax.calls import (
    ForeignCall,
    LoopCode,
    Wiring,
    canonical,
    declaration,
    needed_arrays,
    port_of,
    scalar_kind,
    scalar_port,
    setting,
)
from loopdiff.jax.reverse import ReversePlan, rounded_slope, widened_slope
from loopdiff.jax.sizes import Shape, StaticShapes
from loopdiff.pipeline.stages import for_others
from loopdiff.specialize.interface import is_complex
from loopdiff.specialize.programs import batch_of, pullback_of, pushforward_of
from loopdiff.specialize.specialization import Specialization

T = TypeVar("T")


class JaxProgram:
    """Calls `spec` from JAX. `statics` are Python integers, `dims` the arrays' shapes, `pure` the output arguments.

    It is a function of the `traced` inputs. Its outputs are the results, then the final values of arrays that are
    `written`. `base` is the same with all derivatives that may be asked for, of which this one has those by `slopes`.
    """

    def __init__(
        self, spec: Specialization, statics: Mapping[str, int], dims: Mapping[str, Shape], pure: tuple[str, ...],
        base: JaxProgram | None = None,
    ) -> None:  # fmt: skip
        self.spec, self.statics, self.dims, self.pure = spec, dict(statics), dict(dims), pure
        self.base = base or self
        self.ls: ir.LoopSet = spec.normal
        self.known = StaticShapes(self.ls, self.statics, self.dims)
        if base is None:
            self.known.check()
        self.written = tuple(p for p in self.ls.params if p in spec.written)
        self.inputs = tuple(p for p in self.ls.params if p not in pure)
        self.traced = tuple(p for p in self.inputs if p not in self.statics)
        self.lock, self.made = RLock(), dict[str, Any]()

    def __repr__(self) -> str:
        return f"`{self.ls.name}`"

    def once(self, name: str, make: Callable[[], T]) -> T:
        """The part `name`, made when it is asked for."""
        with self.lock:
            if name not in self.made:
                self.made[name] = make()
            return self.made[name]

    # -- what it takes and gives -----------------------------------------------------------------------------
    @cached_property
    def outputs(self) -> tuple[tuple[str, str], ...]:
        """Name and dtype of each output, as buffers of foreign calls."""
        found: list[tuple[str, str]] = []
        number = 0
        for result, kind in zip(self.ls.results, self.spec.result_types, strict=True):
            if isinstance(result, ir.ArrayResult):
                assert isinstance(kind, ArrayType)
                found.append((result.array, kind.dtype))
            else:
                assert isinstance(kind, ScalarType)
                found.append((f"result {number}", scalar_port("", kind).dtype))
                number += 1
        return (*found, *((n, port_of(self.ls.array(n)).dtype) for n in self.written))

    @cached_property
    def with_slopes(self) -> tuple[int, ...]:
        """The places of floating outputs."""
        return tuple(k for k, (_, dtype) in enumerate(self.outputs) if ELEMENT_TYPES[dtype].is_float)

    @cached_property
    def slopes(self) -> tuple[str, ...]:
        """Traced inputs that have a derivative."""
        return tuple(n for n in self.traced if n in self.spec.wrt or (n in self.written and self.is_floating(n)))

    def is_floating(self, name: str) -> bool:
        return scalar_kind(declaration(self.ls, name)).is_float

    def shape_of_output(self, name: str) -> Shape:
        if name.startswith("result "):
            return ()
        return self.dims[name] if name in self.dims else self.result_shapes[name]

    @cached_property
    def result_shapes(self) -> dict[str, Shape]:
        return self.known.of_results()

    @property
    def output_kinds(self) -> list[jax.ShapeDtypeStruct]:
        for name, dtype in self.outputs:
            self.refuse_width(name, dtype)
        return [jax.ShapeDtypeStruct(self.shape_of_output(n), np.dtype(dtype)) for n, dtype in self.outputs]

    @property
    def slope_kinds(self) -> list[jax.ShapeDtypeStruct]:
        """Shape and dtype of each gradient."""
        ports = [port_of(declaration(self.ls, n)) for n in self.slopes]
        return [jax.ShapeDtypeStruct(self.dims.get(p.name, ()), np.dtype(p.dtype)) for p in ports]

    # -- complex values --------------------------------------------------------------------------------------
    def operands(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        """The traced inputs, from values of the caller."""
        parts = {part: value for name, value in given.items() for part, value in self.in_parts(name, value)}
        return tuple(self.operand(p, parts[p]) for p in self.traced)

    def in_parts(self, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        """A value of the caller as real ones, by parameter; JAX differentiates this step by its own convention."""
        interface = self.spec.interface
        kind, parts = interface.types[name], interface.parts[name]
        if not is_complex(kind):
            yield name, value
        elif isinstance(kind, ArrayType):
            yield parts[0], jnp.stack((value.real, value.imag), axis=-1)
        else:
            yield from zip(parts, (value.real, value.imag), strict=True)

    def in_one_piece(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Results and written arrays as the caller knows them."""
        interface, flat = self.spec.interface, iter(values)
        out: list[Any] = []
        for kind in (*interface.results, *(interface.types[n] for n in self.written)):
            value = next(flat)
            if is_complex(kind):
                real, imag = (value[..., 0], value[..., 1]) if isinstance(kind, ArrayType) else (value, next(flat))
                value = jax.lax.complex(real, imag)
            out.append(value)
        return tuple(out)

    def operand(self, name: str, value: Any) -> Any:
        """A value in the dtype of its port."""
        if self.ls.has_array(name):
            return value
        return jnp.asarray(value, np.dtype(port_of(self.ls.scalar(name)).dtype))

    # -- derivatives -----------------------------------------------------------------------------------------
    def by(self, names: Sequence[str]) -> JaxProgram:
        """The same with the derivatives by the traced inputs `names` alone. DifferentiationError (LD405) for one that
        may not be asked for."""
        base = self.base
        for name in names:
            base.refuse_derivative(name)
        wrt = tuple(n for n in base.ls.params if n in names)
        if wrt == base.spec.wrt:
            return base

        def make() -> JaxProgram:
            return JaxProgram(base.spec.by(wrt), base.statics, base.dims, base.pure, base)

        return base.once(f"by {wrt!r}", make)

    def refuse_derivative(self, name: str) -> None:
        """A derivative that was asked for but is not computed is an error, not a zero."""
        if self.is_floating(name) and name not in self.spec.wrt and name not in self.written:
            (name,) = self.spec.interface.gathered((name,))
            message = f"`{name}` is differentiated by JAX, but `wrt` of `{self.ls.name}` leaves it out"
            raise DifferentiationError(reject("LD405", message, NOWHERE, f"add {name!r} to `wrt`"))

    @for_others()
    def pullback(self) -> JaxProgram:
        """Both sweeps as one function of the inputs, the seeds and the cotangents."""

        def make() -> JaxProgram:
            spec = pullback_of(self.spec, self.base.spec.wrt)
            run, plan = self.sweeps, self.reverse_plan
            counts = dict(zip(run.units.plan.count_names, map(int, self.known.counts(run)), strict=True))
            given = spec.normal.params[len(self.ls.params) :]
            shapes = {n: plan.shape_of(n) for n in given if spec.normal.has_array(n)}
            return JaxProgram(spec, {**self.statics, **counts}, {**self.dims, **shapes}, self.pure)

        return self.once("pullback", make)

    @for_others()
    def pushforward(self) -> JaxProgram:
        """The tangents of the results as a function of the inputs and their tangents."""

        def make() -> JaxProgram:
            spec = pushforward_of(self.spec, self.base.spec.wrt)
            shapes = {t: self.dims[n] for n, t in self.tangents.items() if n in self.dims}
            pure = (*self.pure, *(t for n, t in self.tangents.items() if n in self.pure))
            return JaxProgram(spec, self.statics, {**self.dims, **shapes}, pure)

        return self.once("pushforward", make)

    @for_others()
    def for_batch(self, mapped: Sequence[bool], size: int) -> JaxProgram:
        """The same for a batch of so many of the traced inputs that are `mapped`, the written ones among them."""
        names = [n for n, m in zip(self.traced, mapped, strict=True) if m]
        arrays = frozenset((*(n for n in names if self.ls.has_array(n)), *self.pure))
        scalars = {n: port_of(self.ls.scalar(n)).dtype for n in names if n not in arrays}
        numbers = {k: dtype for k, (name, dtype) in enumerate(self.outputs) if name.startswith("result ")}

        def make() -> JaxProgram:
            spec = batch_of(self.base.spec, Batch(arrays, scalars, numbers))
            shapes = {n: (size, *self.dims[n]) for n in arrays} | dict.fromkeys(scalars, (size,))
            return JaxProgram(spec, self.statics, {**self.dims, **shapes}, self.pure)

        return self.once(f"batch of {size}: {sorted(names)!r}", make)

    @cached_property
    def tangents(self) -> dict[str, str]:
        """The parameter of `pushforward` for the tangent of each argument that has one."""
        params = pushforward_of(self.spec, self.base.spec.wrt).normal.params
        return tail_names(params[len(self.ls.params) :], self.ls.params, "_tan")

    # -- the function and its forward sweep ------------------------------------------------------------------
    @cached_property
    def primal_call(self) -> ForeignCall:
        spec = self.spec
        return self.wire(LoopCode(spec, "filling", spec.filling_loops, lambda: spec.filling, spec.normal))

    @cached_property
    def forward_call(self) -> ForeignCall:
        units, label = self.sweeps.units, self.spec.of_wrt(f"forward {self.sweeps.label}")
        forward = units.plan.forward
        return self.wire(LoopCode(self.spec, label, forward, lambda: units.forward, forward))

    @for_others()
    def evaluate(self, traced: Sequence[Any], marks: Sequence[Marks]) -> tuple[Any, ...]:
        """The outputs by the function alone, which keeps nothing for derivatives. Inputs are marked for batches."""
        base = self.base
        named = base.called(base.primal_call, traced, marks, base.result_shapes)
        return tuple(named[n] for n, _ in base.outputs)

    def for_errors(self, traced: Sequence[Any]) -> tuple[()]:
        """A call of what gives nothing, for its errors alone: JAX leaves out primitives without outputs, and keeps
        foreign calls that have effects."""
        self.evaluate([*map(jax.lax.stop_gradient, traced)], unmarked(traced))
        return ()

    @for_others()
    def forward(self, traced: Sequence[Any], marks: Sequence[Marks]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The outputs, and what the reverse sweep needs besides them."""
        named = self.called(self.forward_call, traced, marks, self.workspace_shapes)
        return tuple(named[n] for n, _ in self.outputs), tuple(named[n] for n in self.rest)

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """Arrays of the forward sweep that the reverse sweep gets."""
        return tuple(port.name for port in self.forward_call.results if not port.name.startswith("result "))

    @cached_property
    def rest(self) -> tuple[str, ...]:
        """Those of `kept` that are no outputs."""
        own = {n for n, _ in self.outputs}
        return tuple(n for n in self.kept if n not in own)

    @property
    def rest_kinds(self) -> list[jax.ShapeDtypeStruct]:
        ports = {port.name: port for port in self.forward_call.results}
        shapes = {**self.workspace_shapes, **self.dims}
        return [jax.ShapeDtypeStruct(shapes[n], np.dtype(ports[n].dtype)) for n in self.rest]

    def kept_of(self, outputs: Sequence[Any], rest: Sequence[Any]) -> tuple[Any, ...]:
        """The values of `kept`, from what the forward sweep gives."""
        found = dict(zip((n for n, _ in self.outputs), outputs, strict=True))
        found |= zip(self.rest, rest, strict=True)
        return tuple(found[n] for n in self.kept)

    def called(
        self, call: ForeignCall, traced: Sequence[Any], marks: Sequence[Marks], shapes: Mapping[str, Shape]
    ) -> dict[str, Any]:
        """What a call gives, by the names of its buffers."""
        values, own = self.values(traced), self.marks(marks)
        operands = [values[p] for p in self.inputs]
        return call_batch(call, operands, [own[p] for p in self.inputs], {**shapes, **self.dims}, {})

    def wire(self, code: LoopCode) -> ForeignCall:
        """The function or its forward sweep as a foreign call."""
        wiring, ls = Wiring(), code.ls
        scalars = [k for k in self.spec.result_types if isinstance(k, ScalarType)]
        for number, kind in enumerate(scalars):
            wiring.result(scalar_port(f"result {number}", kind))
        needed, touched = needed_arrays(ls) | returned_arrays(self.ls), touched_arrays(ls.body)
        for name in ls.params:
            port = port_of(declaration(ls, name))
            if name in self.pure:
                wiring.write(port, is_zeroed=True)
            elif name in self.ls.params:
                (wiring.update if name in self.written else wiring.read)(port)
            elif name in needed:
                self.refuse_width(name, port.dtype)
                wiring.write(port, is_zeroed=name not in touched or setting("jax_debug_nans"))
            else:
                wiring.skip(port)
        numbers = iter(range(len(scalars)))
        returns = [None if isinstance(r, ir.ArrayResult) else next(numbers) for r in ls.results]
        return ForeignCall(wiring, code, returns, self.statics)

    def refuse_width(self, name: str, dtype: str) -> None:
        if canonical(dtype) != dtype:
            message = f"`{self.ls.name}` keeps {dtype} values in `{name}`, which JAX has not without 64-bit types"
            hint = 'jax.config.update("jax_enable_x64", True)'
            raise ArgumentError(reject("LD352", message, NOWHERE, hint))

    def values(self, traced: Sequence[Any]) -> dict[str, Any]:
        """Every input by name, static ones as constants."""
        found = dict(zip(self.traced, traced, strict=True))
        return {**found, **{n: self.operand(n, v) for n, v in self.statics.items()}}

    def marks(self, of_traced: Sequence[Marks]) -> dict[str, Marks]:
        """The marks of every input; static ones have none."""
        nothing = tuple(False for _ in range(levels(of_traced)))
        return {**dict.fromkeys(self.statics, nothing), **dict(zip(self.traced, of_traced, strict=True))}

    # -- the reverse sweep -----------------------------------------------------------------------------------
    @cached_property
    def sweeps(self) -> ReverseRun:
        """Those of the tape policy, or what keeps no more than the memory limit."""
        limit = limit_of(self.spec.options)
        return sweeps_of(self.spec, "sums") if limit is None else self.known.fitting_run(self.spec, limit)

    @cached_property
    def workspace_shapes(self) -> dict[str, Shape]:
        return self.known.of_workspace(self.sweeps)

    @cached_property
    def has_known_workspace(self) -> bool:
        """Whether JAX can have what is kept: its shapes and types are JAX's. Else there are tangents alone."""
        try:
            return self.rest_kinds is not None
        except ArgumentError as error:
            if set(error.codes).isdisjoint(("LD345", "LD351", "LD352")):
                raise
            return False

    @cached_property
    def reverse_plan(self) -> ReversePlan:
        shapes = {**self.workspace_shapes, **self.dims}
        return ReversePlan(self.sweeps, self.written, self.kept, shapes, self.statics)

    @for_others()
    def reverse(
        self, traced: Sequence[Any], kept: Sequence[Any], cotangents: Sequence[Any], marks: Sequence[Marks],
        wanted: Sequence[Marks],
    ) -> tuple[Any, ...]:  # fmt: skip
        """The gradients by `slopes`, for the cotangents of the floating outputs. All of these are marked for batches;
        gradients have the axes that are `wanted`."""
        plan = self.reverse_plan
        count = len(traced)
        of_traced, of_kept, of_cotangents = marks[:count], marks[count : count + len(kept)], marks[count + len(kept) :]
        seeds = plan.arriving([*map(widened_slope, cotangents)])
        values = {**self.values(traced), **dict(zip(self.kept, kept, strict=True)), **seeds}
        own = {**self.marks(of_traced), **dict(zip(self.kept, of_kept, strict=True)), **plan.arriving(of_cotangents)}
        named = plan(values, own, dict(zip(self.slopes, wanted, strict=True)))
        found = {n: named[plan.buffer_of(n)] for n in self.slopes}
        return tuple(rounded_slope(found[n], values[n].dtype) for n in self.slopes)
