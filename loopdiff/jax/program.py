"""One combination of types, shapes and static integers: its foreign calls, and the custom derivative around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from loopdiff.calls.runs import ReverseRun, sweeps_of
from loopdiff.errors import NOWHERE, ArgumentError, DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import BOOL, INT, ArrayType, ScalarType
from loopdiff.ir.walk import expressions, subexprs, touched_arrays, written_arrays
from loopdiff.jax.calls import ForeignCall, Wiring, canonical, connect, port_of, scalar_port
from loopdiff.jax.second import differentiable_forward, differentiable_reverse, materialised
from loopdiff.memory.arena import EXTENT_NAMES, Sizes, aligned_block
from loopdiff.pipeline.stages import for_others
from loopdiff.specialize.interface import is_complex
from loopdiff.specialize.programs import pullback_of
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import Unit

Shape = tuple[int, ...]


class JaxProgram:
    """Calls `spec` from JAX. `statics` are Python integers, `dims` the arrays' shapes, `pure` the output arguments."""

    def __init__(
        self, spec: Specialization, statics: Mapping[str, int], dims: Mapping[str, Shape], pure: tuple[str, ...]
    ) -> None:
        self.spec, self.statics, self.dims, self.pure = spec, dict(statics), dict(dims), pure
        self.ls: ir.LoopSet = spec.normal
        self.written = tuple(p for p in self.ls.params if p in spec.written)
        check_shapes(self.ls, self.statics, self.dims)
        self.inputs = tuple(p for p in self.ls.params if p not in pure)
        self.traced = tuple(p for p in self.inputs if p not in self.statics)
        self.primal_call: ForeignCall | None = None
        self.forward_call: ForeignCall | None = None
        self.reverse_call: tuple[ForeignCall, ReversePlan] | None = None
        self.again: JaxProgram | None = None
        self.shapes: dict[str, Shape] | None = None
        self.forward_rule, self.reverse_rule = differentiable_forward(self), differentiable_reverse(self)
        self.function = self.differentiable()

    def __call__(self, given: Mapping[str, Any]) -> Any:
        parts = {part: value for name, value in given.items() for part, value in self.in_parts(name, value)}
        values = self.in_one_piece(self.function(*(self.operand(p, parts[p]) for p in self.traced)))
        return values[0] if len(values) == 1 else values

    # -- complex values --------------------------------------------------------------------------------------
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

    # -- the derivative --------------------------------------------------------------------------------------
    def differentiable(self) -> Callable[..., tuple[Any, ...]]:
        """The function of the traced inputs, with this program's reverse sweep as its derivative."""

        @jax.custom_vjp
        def run(*traced: Any) -> tuple[Any, ...]:
            return self.evaluate(traced)

        def run_forward(*primals: Any) -> tuple[tuple[Any, ...], Any]:
            traced = self.unwrapped(primals)
            outputs, kept = self.forward_rule(*traced)
            return outputs, (traced, kept)

        def run_reverse(residuals: tuple[Any, Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
            traced, kept = residuals
            return self.pulled(traced, kept, cotangents)

        run.defvjp(run_forward, run_reverse, symbolic_zeros=True)
        return run

    def unwrapped(self, primals: Sequence[Any]) -> tuple[Any, ...]:
        """The traced inputs, none of which JAX differentiates in vain."""
        for name, primal in zip(self.traced, primals, strict=True):
            self.refuse_derivative(name, primal.perturbed)
        return tuple(p.value for p in primals)

    @for_others()
    def pulled(self, traced: Sequence[Any], kept: Mapping[str, Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """Gradients of the traced inputs by the reverse sweep, which JAX may differentiate again."""
        return self.reverse_rule(tuple(traced), kept, self.reverse_plan().arriving(cotangents))

    @for_others()
    def pullback(self) -> JaxProgram:
        """Both sweeps as one function of the inputs, the seeds and the cotangents."""
        if self.again is None:
            spec = pullback_of(self.spec)
            run, plan = self.sweeps, self.reverse_plan()
            counts = dict(zip(run.units.plan.count_names, map(int, self.counts(run)), strict=True))
            given = spec.normal.params[len(self.ls.params) :]
            shapes = {n: plan.shape_of(n) for n in given if spec.normal.has_array(n)}
            self.again = JaxProgram(spec, {**self.statics, **counts}, {**self.dims, **shapes}, self.pure)
        return self.again

    def refuse_derivative(self, name: str, is_perturbed: bool) -> None:
        """A derivative that was asked for but is not computed is an error, not a zero."""
        decl = self.ls.array(name) if self.ls.has_array(name) else self.ls.scalar(name)
        kind = element(decl)
        if is_perturbed and kind.is_float and name not in self.spec.wrt and name not in self.written:
            (name,) = self.spec.interface.gathered((name,))
            message = f"`{name}` is differentiated by JAX, but `wrt` of `{self.ls.name}` leaves it out"
            raise DifferentiationError(reject("LD405", message, NOWHERE, f"add {name!r} to `wrt`"))

    # -- forward ---------------------------------------------------------------------------------------------
    @for_others()
    def evaluate(self, traced: Sequence[Any]) -> tuple[Any, ...]:
        """Outputs for the caller, where no derivative is asked for.

        By the primal, which keeps nothing; arrays that it would return are results of the forward sweep.
        """
        if any(isinstance(r, ir.ArrayResult) for r in self.ls.results):
            return self.forward(traced)[0]
        if self.primal_call is None:
            self.primal_call = self.wire(self.spec.primal)
        return self.run(self.primal_call, traced, {})[0]

    @for_others()
    def forward(self, traced: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Outputs for the caller, and the arrays the reverse sweep needs, by name."""
        if self.forward_call is None:
            self.forward_call = self.wire(self.sweeps.units.forward)
        return self.run(self.forward_call, traced, self.workspace_shapes())

    def run(
        self, call: ForeignCall, traced: Sequence[Any], workspace: Mapping[str, Shape]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Outputs of a call, and the arrays it writes, by name."""
        values = self.values(traced)
        known = {**workspace, **self.dims}
        found = call([values[p] for p in self.inputs], [known.get(port.name, ()) for port in call.results])
        named = {port.name: value for port, value in zip(call.results, found, strict=True)}
        numbers = iter(found)  # numbers come first
        results = [named[r.array] if isinstance(r, ir.ArrayResult) else next(numbers) for r in self.ls.results]
        outputs = (*results, *(named[w] for w in self.written))
        return outputs, {n: v for n, v in named.items() if not n.startswith("result ")}

    def wire(self, unit: Unit) -> ForeignCall:
        """The primal or the forward sweep as a foreign call."""
        ls = unit.ls
        wiring = Wiring()
        scalars = [k for k in self.spec.result_types if isinstance(k, ScalarType)]
        for number, kind in enumerate(scalars):
            wiring.result(scalar_port(f"result {number}", kind))
        touched = touched_arrays(ls.body)
        pending = {p: port_of(declaration(ls, p)) for p in self.inputs}
        for name in ls.params:
            port = pending.get(name) or port_of(declaration(ls, name))
            if name in self.pure:
                wiring.write(port, is_zeroed=True)
            elif name in self.ls.params:
                (wiring.update if name in self.written else wiring.read)(port)
            elif name in touched or ir.ArrayResult(name) in ls.results:
                self.refuse_width(name, port.dtype)
                wiring.write(port, is_zeroed=False)
            else:
                wiring.skip(port)
        returns: list[int | None] = []
        numbers = iter(range(len(scalars)))
        for result in ls.results:
            returns.append(None if isinstance(result, ir.ArrayResult) else next(numbers))
        return connect(unit, self.spec.options, wiring, returns, self.statics)

    def refuse_width(self, name: str, dtype: str) -> None:
        if canonical(dtype) != dtype:
            message = f"`{self.ls.name}` keeps {dtype} values in `{name}`, which JAX has not without 64-bit types"
            hint = 'jax.config.update("jax_enable_x64", True)'
            raise ArgumentError(reject("LD352", message, NOWHERE, hint))

    def values(self, traced: Sequence[Any]) -> dict[str, Any]:
        """Every input by name, static ones as constants."""
        found = dict(zip(self.traced, traced, strict=True))
        return {**found, **{n: self.operand(n, v) for n, v in self.statics.items()}}

    # -- between the sweeps ----------------------------------------------------------------------------------
    @property
    def sweeps(self) -> ReverseRun:
        return sweeps_of(self.spec, "sums")

    def workspace_shapes(self) -> dict[str, Shape]:
        """Shapes between the sweeps. Raises ArgumentError: LD351 where a traced number decides them, LD352 where
        elements of arrays do; and OutOfMemoryError (LD610).
        """
        if self.shapes is None:
            run = self.sweeps
            names = run.units.plan.forward.params[len(self.ls.params) :]
            values = [
                SimpleNamespace(shape=self.dims[p]) if p in self.dims else self.statics.get(p, Traced(p))
                for p in self.ls.params
            ]
            sizes = run.arena.sizes((*values, *self.counts(run))) if names else ()
            refuse_shortage(run, sizes, values)
            self.shapes = dict(zip(names, sizes, strict=False))
        return self.shapes

    def counts(self, run: ReverseRun) -> tuple[int, ...]:
        """Totals that size the tape, counted now from shapes and static integers. LD352 if elements decide them."""
        unit = run.units.counts
        if not run.units.plan.count_names:
            return ()
        nodes = [] if unit is None else [e for x in expressions(unit.ls) for e in subexprs(x)]
        is_loaded = any(isinstance(e, ir.Load) and e.access.subscripts for e in nodes)
        is_traced = any(isinstance(e, ir.Param) and e.name not in self.statics for e in nodes)
        if unit is None or is_loaded or is_traced:
            message = f"`{self.ls.name}` keeps values in loops whose length depends on data; JAX needs static sizes"
            hint = "decorate with `tape='recompute'`, or give such loops bounds from shapes and Python ints"
            raise ArgumentError(reject("LD352", message, NOWHERE, hint))
        return unit.run(*(self.placeholder(p) for p in unit.ls.params))

    def placeholder(self, name: str) -> Any:
        """An argument of which only the type and the shape matter, or a static integer."""
        kind = self.ls.array(name).type if self.ls.has_array(name) else None
        if kind is not None:
            return np.empty(self.dims[name], kind.dtype)
        return self.statics.get(name, 0 if element(self.ls.scalar(name)) in (BOOL, INT) else 0.0)

    # -- reverse ---------------------------------------------------------------------------------------------
    def reverse_plan(self) -> ReversePlan:
        """The reverse sweep, wired at its first use."""
        if self.reverse_call is None:
            plan = ReversePlan(self, self.sweeps)
            self.reverse_call = (plan.connect(), plan)
        return self.reverse_call[1]

    @for_others()
    def reverse(self, traced: Sequence[Any], kept: Mapping[str, Any], arriving: Mapping[str, Any]) -> tuple[Any, ...]:
        """Gradients of the traced inputs for seeds and cotangents by parameter; None for those without a derivative."""
        plan = self.reverse_plan()
        assert self.reverse_call is not None
        call = self.reverse_call[0]
        values = {**self.values(traced), **kept}
        operands = [arriving[p.name] if p.name in arriving else values[p.name] for p in plan.wiring.operands]
        shapes = [plan.shape_of(port.name) for port in call.results]
        found = call(operands, shapes)
        named = {port.name: value for port, value in zip(call.results, found, strict=True)}
        return tuple(plan.gradient(name, named, value) for name, value in zip(self.traced, traced, strict=True))


class ReversePlan:
    """How the reverse sweep's parameters meet buffers."""

    def __init__(self, program: JaxProgram, run: ReverseRun) -> None:
        self.program, self.run = program, run
        self.ls = run.units.plan.reverse
        self.buffers = {buffer: argument for argument, buffer in run.buffers.items()}
        self.wiring = Wiring()
        assert program.forward_call is not None
        self.kept = {port.name for port in program.forward_call.results}
        self.scalars = [s.name for s in program.ls.scalars if s.name in program.spec.wrt]
        for name in self.scalars:
            kind = program.ls.scalar(name).type
            assert kind is not None
            self.wiring.result(scalar_port(f"slope {name}", kind))
        for name in self.ls.params:
            self.wire(name)

    def wire(self, name: str) -> None:
        """Arguments are passed on even where only their shapes matter."""
        program, ls = self.program, self.ls
        port = port_of(declaration(ls, name))
        written, touched = written_arrays(ls.body), touched_arrays(ls.body)
        if name in self.buffers:
            argument = self.buffers[name]
            if argument in program.written:
                self.wiring.update(port)
            else:
                self.wiring.write(port, is_zeroed=True)
        elif not ls.has_array(name):
            self.wiring.read(port)
        elif name in self.run.seed_names:
            (self.wiring.update if name in written else self.wiring.read)(port)
        elif name not in touched and name not in program.ls.params:
            self.wiring.skip(port)
        elif ls.array(name).role == "adjoint" or (name not in program.ls.params and name not in self.kept):
            self.wiring.write(port, is_zeroed=False)
        elif name in written:
            self.wiring.update(port)
        else:
            self.wiring.read(port)

    def connect(self) -> ForeignCall:
        options, returns = self.program.spec.options, range(len(self.scalars))
        return connect(self.run.units.reverse, options, self.wiring, returns, self.program.statics)

    def shape_of(self, name: str) -> Shape:
        if name.startswith("slope "):
            return ()
        if name in self.buffers:
            return self.program.dims[self.buffers[name]]
        if name in self.run.seed_names:
            array = name.removesuffix("_adj")
            return self.program.workspace_shapes()[array]
        return self.program.dims[name] if name in self.program.dims else self.program.workspace_shapes()[name]

    def arriving(self, cotangents: Sequence[Any]) -> dict[str, Any]:
        """Seeds of floating results, and cotangents of written floating arrays, by parameter name."""
        kinds = self.program.spec.result_types
        out: dict[str, Any] = {}
        seeds = iter(self.run.seed_names)
        for kind, cotangent in zip(kinds, cotangents, strict=False):
            scalar = kind if isinstance(kind, ScalarType) else kind.element
            if scalar.is_float:
                out[next(seeds)] = materialised(cotangent)
        of_array = {argument: buffer for buffer, argument in self.buffers.items()}
        for argument, cotangent in zip(self.program.written, cotangents[len(kinds) :], strict=True):
            if argument in of_array:
                out[of_array[argument]] = materialised(cotangent)
        return out

    def gradient(self, name: str, named: Mapping[str, Any], value: Any) -> Any:
        of_array = {argument: buffer for buffer, argument in self.buffers.items()}
        if name in of_array:
            return named[of_array[name]]
        slope = named.get(f"slope {name}")
        return None if slope is None else slope.astype(value.dtype)


class Traced:
    """Stands for a number that is not known when tracing; using it as a size is an error that names it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def refuse(self, *_: Any) -> Any:
        message = f"`{self.name}` decides the size of what is kept between the sweeps, and is traced"
        raise ArgumentError(reject("LD351", message, NOWHERE, "pass it as a Python int"))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = refuse
    __mod__ = __neg__ = __index__ = __int__ = __lt__ = __gt__ = __le__ = __ge__ = refuse


def declaration(ls: ir.LoopSet, name: str) -> ir.ArrayDecl | ir.ScalarDecl:
    return ls.array(name) if ls.has_array(name) else ls.scalar(name)


def element(decl: ir.ArrayDecl | ir.ScalarDecl) -> ScalarType:
    kind = decl.type if isinstance(decl, ir.ScalarDecl) else None if decl.type is None else decl.type.element
    assert kind is not None
    return kind


def check_shapes(ls: ir.LoopSet, statics: Mapping[str, int], dims: Mapping[str, Shape]) -> None:
    """Evaluate the conditions on shapes and static integers now: ArgumentError with the argument's name."""
    known: dict[str, Any] = dict(EXTENT_NAMES) | dict(statics)
    known |= {n: SimpleNamespace(shape=shape) for n, shape in dims.items()}
    for stmt in ls.body:
        if not isinstance(stmt, ir.Require):
            continue
        nodes = list(subexprs(stmt.cond))
        if any(isinstance(e, ir.Load | ir.Var | ir.Index) for e in nodes):
            continue
        names = {getattr(e, "name", None) or getattr(e, "array", None) for e in nodes} - {None}
        if names <= set(known) and not eval(print_expr(stmt.cond), dict(known)):
            raise ArgumentError(reject(stmt.code, stmt.said, stmt.loc))


def refuse_shortage(run: ReverseRun, sizes: Sizes, values: Sequence[Any]) -> None:
    """Ask the system for the memory that XLA is going to ask it for: XLA's own refusal says nothing of arrays."""
    if not sizes or jax.default_backend() != "cpu":
        return
    try:
        aligned_block(run.arena.bytes(sizes))
    except MemoryError as error:
        raise run.needs.refusal(values, error) from None
