"""Running compiled sweeps and tangents on a caller's arguments: buffers in, derivatives out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from loopdiff.arena import Arena, Sizes, Workspace, allocate, sizes_function
from loopdiff.buffers import recipes_of
from loopdiff.codes import reject
from loopdiff.errors import NOWHERE, ArgumentError, Span
from loopdiff.gradients import checked_array, checked_scalar, record_type, scalar_of
from loopdiff.guards import Mark, mark_of
from loopdiff.interface import Interface, is_complex, pairs
from loopdiff.ir.nodes import Allocate, ArrayDecl, LoopSet, Require
from loopdiff.ir.types import F32, F64, ArrayType, ScalarType
from loopdiff.ir.walk import read_arrays, statements, written_arrays
from loopdiff.launch import Checks
from loopdiff.names import tail_names
from loopdiff.options import TapePolicy
from loopdiff.specialization import Specialization, has_slope, is_floating
from loopdiff.units import SweepUnits, Unit

if TYPE_CHECKING:
    from loopdiff.ad.sweeps import Form

Arguments = tuple[Any, ...]


def caller_results(spec: Specialization, value: Any, copy_arrays: bool) -> Any:
    """What compiled code returned as the function's own result; local arrays are copied for the caller."""
    if not spec.result_types:
        return None
    values = value if isinstance(value, tuple) else (value,)
    out = [own_result(t, v, copy_arrays) for t, v in zip(spec.result_types, values, strict=False)]
    return spec.own_result(out)


def own_result(kind: ScalarType | ArrayType, value: Any, copy_arrays: bool) -> Any:
    if isinstance(kind, ArrayType):
        return value.copy() if copy_arrays else value
    return np.float32(value) if kind is F32 else value


def layout_preserving_copy(array: np.ndarray) -> np.ndarray:
    """A copy that compiled code for the same layout accepts: strided arrays get one with gaps, where they have some."""
    if array.flags.forc or array.ndim == 0:
        return array.copy(order="K")
    steps = zip(array.strides, array.shape, strict=True)
    axis = max(k for k, (step, extent) in enumerate(steps) if extent > 1 and step != array.itemsize)
    shape = (*array.shape[:axis], 2 * array.shape[axis], *array.shape[axis + 1 :])
    padded = np.empty(shape, array.dtype)[(*[slice(None)] * axis, slice(None, None, 2))]
    padded[...] = array
    return padded


def own_arrays(spec: Specialization, args: Arguments) -> Arguments:
    """`args` with copies of the arrays that the function writes."""
    return tuple(
        layout_preserving_copy(a) if n in spec.written else a for n, a in zip(spec.normal.params, args, strict=True)
    )


class ReverseRun:
    """Forward and reverse sweep of one specialization under one tape policy."""

    def __init__(self, spec: Specialization, units: SweepUnits) -> None:
        self.spec = spec
        self.interface = spec.interface
        self.is_real = self.interface.is_real
        self.units = units
        self.ls = spec.normal
        self.count_args = len(self.ls.params)
        forward, reverse = units.plan.forward, units.plan.reverse
        self.kinds = spec.result_types
        self.has_array_result = any(isinstance(k, ArrayType) for k in self.interface.results)
        self.finish, self.plain_seed = spec.finish, plain_seed(self.interface)
        tail = reverse.params[len(forward.params) :]
        seeds = sum(is_floating(k) for k in self.kinds)
        self.seed_names = tail[:seeds]
        arrays = [p for p in self.ls.params if self.ls.has_array(p)]
        self.buffers = tail_names(tail[seeds:], arrays, "_adj")
        self.plan_buffers(reverse)
        touched = written_arrays(reverse.body)
        loaded = read_arrays(reverse.body) | touched
        self.kept = tuple(i for i, p in enumerate(self.ls.params) if p in loaded and self.ls.has_array(p))
        self.disturbed = tuple(i for i, p in enumerate(self.ls.params) if p in touched)
        decls = [reverse.array(n) for n in forward.params[self.count_args :]]
        anew = {s.array for s in reverse.body if isinstance(s, Allocate)}
        worn = (d.name in touched - anew and d.role != "adjoint" for d in decls)
        self.worn = tuple(i for i, is_worn in enumerate(worn) if is_worn)
        scratch = [reverse.array(self.buffers[p]) for p in self.scratch]
        self.workspace_size = len(decls)
        parameters = (*self.ls.params, *units.plan.count_names)
        steps = (s.stmt.loc for s in statements(self.ls.body) if isinstance(s.stmt, Require) and s.stmt.code == "LD330")
        self.arena = make_arena(parameters, decls, scratch, self.scratch, next(steps, NOWHERE))

    def plan_buffers(self, reverse: LoopSet) -> None:
        """How the buffer of each argument is made, and where each gradient comes from."""
        wrt = self.spec.wrt
        self.scratch = [p for p in self.buffers if p not in wrt]
        self.recipes = recipes_of(self.ls, reverse, self.buffers, wrt)
        self.recipe_of = dict(zip(self.buffers, self.recipes, strict=True))
        scalars = [s.name for s in self.ls.scalars if s.name in wrt]
        names = list(self.buffers)
        self.sources = tuple((True, names.index(n)) if n in self.buffers else (False, scalars.index(n)) for n in wrt)
        self.scalar_kinds = [self.ls.scalar(n).type for n in scalars]
        self.gradients = record_type("Gradients", wrt)
        self.is_direct = all(is_array for is_array, _ in self.sources)

    @cached_property
    def forward(self) -> Callable[..., Any]:
        return self.units.forward.call

    @cached_property
    def reverse(self) -> Callable[..., Any]:
        return self.units.reverse.call

    # -- memory ----------------------------------------------------------------------------------------------
    def counts(self, args: Arguments) -> tuple[int, ...]:
        """Totals that size tapes of data-dependent extent; counting works on copies of what it writes."""
        unit = self.units.counts
        if self.units.plan.count_tapes:
            return self.counts_of_forward(args)
        if unit is None:
            return ()
        touched = written_arrays(unit.ls.body)
        copies = [layout_preserving_copy(a) if p in touched else a for p, a in zip(unit.ls.params, args, strict=True)]
        found = unit.run(*copies)
        return tuple(found) if isinstance(found, tuple) else (found,)

    def counts_of_forward(self, args: Arguments) -> tuple[int, ...]:
        """The totals that the forward sweep finds on empty tapes and copies of what it writes."""
        unit, plan, count = self.units.forward, self.units.plan, self.workspace_size
        touched = written_arrays(unit.ls.body)
        copies = [layout_preserving_copy(a) if p in touched else a for p, a in zip(self.ls.params, args, strict=True)]
        sizes = self.arena.sizes((*args, *(0 for _ in plan.count_names)))[:count]
        workspace = allocate(sizes, self.arena.dtypes[:count], self.arena.orders[:count])
        unit.run(*copies, *workspace)
        names = unit.ls.params[self.count_args :]
        return tuple(int(workspace[names.index(tape)][0]) for tape in plan.count_tapes)

    def sizes(self, args: Arguments) -> Sizes:
        return self.arena.sizes((*args, *self.counts(args)))

    def take(self, args: Arguments) -> Workspace:
        return self.arena.take(self.sizes(args))

    def make_buffers(
        self, args: Arguments, workspace: Workspace, cotangents: Mapping[int, np.ndarray] | None = None
    ) -> list[np.ndarray]:
        """One adjoint buffer per active or written array: zero, or the cotangent of the final value."""
        scratch, given = workspace.arrays[self.workspace_size :], cotangents or {}
        return [r.make(args[r.position].shape, scratch, given.get(r.position)) for r in self.recipes]

    # -- runs ------------------------------------------------------------------------------------------------
    def undisturbed(self, args: Arguments) -> Arguments:
        """`args` with copies of the arrays that the reverse sweep works in."""
        if not self.disturbed:
            return args
        return tuple(layout_preserving_copy(a) if i in self.disturbed else a for i, a in enumerate(args))

    def collect(self, buffers: Sequence[np.ndarray], slopes: Any) -> Any:
        if self.is_direct:
            return tuple.__new__(self.gradients, [buffers[k] for _, k in self.sources])
        values = slopes if isinstance(slopes, tuple) else (slopes,)
        scalars = [scalar_of(k, v) for k, v in zip(self.scalar_kinds, values, strict=True) if k is not None]
        return tuple.__new__(self.gradients, [buffers[k] if is_array else scalars[k] for is_array, k in self.sources])

    def vjp(self, args: Arguments) -> tuple[Any, Pullback]:
        """Result and pullback; the pullback refers to the arrays it needs, and marks what they hold."""
        _ = self.reverse  # which is refused, if at all, before anything is written
        workspace = self.take(args)
        try:
            value = self.forward(*args, *workspace.arrays[: self.workspace_size])
        except ValueError as error:
            raise self.units.forward.refuse(error) from None
        if self.has_array_result:
            value = caller_results(self.spec, value, True)
            shapes = tuple(np.shape(v) for v in (value if self.interface.returns_tuple else (value,)))
            return value, Pullback(self, args, workspace, shapes)
        pullback = Pullback(self, args, workspace, tuple(() for _ in self.interface.results))
        return value if self.finish is None else self.finish(value), pullback

    def marks(self, args: Arguments) -> list[Mark]:
        """What the arrays that a pullback needs are compared with."""
        check = self.spec.options.check
        return [mark_of(check, args[i]) for i in self.kept] if check != "never" else []


def sweeps_of(spec: Specialization, form: Form, tape: TapePolicy | None = None) -> ReverseRun:
    """The sweeps of a specialization in one of their forms, under the tape policy of its options, or under `tape`."""
    policy, form = tape or spec.options.tape, spec.form(form)
    return spec.once(f"run {form} {policy}", lambda: ReverseRun(spec, spec.sweeps(form, policy)))


def gradient_launcher(checks: Checks, run: ReverseRun) -> Callable[..., Any]:
    """Checks, buffers, both sweeps: `(value, gradients)` of a function with one floating result."""
    script = checks.script()
    args, size, interface = script.args, run.workspace_size, run.spec.interface
    script.names |= {
        "take": run.take, "give": run.arena.give, "empty": np.empty, "zeros": np.zeros, "reverse": run.reverse,
        "undisturbed": run.undisturbed, "new": tuple.__new__,
        "gradients": run.gradients, "one": np.float32(1.0) if run.kinds == (F32,) else 1.0,
        "finish": run.spec.finish,
    }  # fmt: skip
    has_workspace = bool(run.arena.decls)
    locals_text = "".join(f", w{k}" for k in range(size))
    if has_workspace:
        script.add(f"workspace = take(({args},))")
        everything = ", ".join(f"w{k}" for k in range(len(run.arena.decls)))
        script.add(f"{everything}, = workspace.arrays")
    forward = run.units.forward
    script.call("value", forward.call, f"{args}{locals_text}", forward.refuse)
    buffers: list[str] = []
    for number, recipe in enumerate(run.recipes):
        buffer = f"b{number}" if recipe.place is None else f"w{size + recipe.place}"
        if recipe.place is None:
            dtype, shape = script.put(f"dtype{number}", recipe.dtype), f"{script.passed[recipe.position]}.shape"
            make = "empty" if recipe.is_started else "zeros"
            script.add(f"{buffer} = {make}({shape}, {dtype}, {recipe.order!r})")
        elif not recipe.is_started:
            script.add(f"{buffer}.fill(0)")
        buffers.append(buffer)
    if run.disturbed:
        script.add(f"{args}, = undisturbed(({args},))")
    inputs = f"{args}{locals_text}, one{''.join(f', {b}' for b in buffers)}"
    script.add(f"slopes = reverse({inputs})")
    if has_workspace:
        script.add("give(workspace)")
    if run.is_direct:
        found = ", ".join(buffers[k] for _, k in run.sources)
        collected = f"new(gradients, ({found},))"
    else:
        script.put("collect", run.collect)
        collected = f"collect([{', '.join(buffers)}], slopes)"
    if not interface.is_real:
        script.put("in_one_piece", interface.gradients)
        collected = f"in_one_piece({collected})"
    script.add(f"return {'value' if run.spec.finish is None else 'finish(value)'}, {collected}")
    return script.define("value_and_grad")


def one_pass_launcher(checks: Checks, spec: Specialization, unit: Unit) -> Callable[..., Any]:
    """Checks and the one function: `(value, gradients)` of a function with one floating result."""
    script = checks.script()
    script.call("found", unit.call, script.args, unit.refuse)
    kinds = [None if spec.normal.has_array(n) else spec.normal.scalar(n).type for n in spec.wrt]
    parts = []
    for k, kind in enumerate(kinds, start=1):
        parts.append(f"found[{k}]" if kind is None else f"scalar_of({script.put(f'kind{k}', kind)}, found[{k}])")
    script.names |= {"new": tuple.__new__, "scalar_of": scalar_of, "finish": spec.finish}
    record = script.put("gradients", record_type("Gradients", spec.wrt))
    value = "found[0]" if spec.finish is None else "finish(found[0])"
    script.add(f"return {value}, new({record}, ({', '.join(parts)},))")
    return script.define("value_and_grad")


def make_arena(
    parameters: Sequence[str], decls: list[ArrayDecl], buffers: list[ArrayDecl], names: Sequence[str], step: Span
) -> Arena:
    """Workspace arrays, then the adjoint buffers that no caller sees, shaped like the arguments `names`.

    `step` is where extents would divide by zero.
    """
    sized = sizes_function(parameters, decls, names)
    return Arena(sized, (*decls, *(replace(b, extents=()) for b in buffers)), step)


def plain_seed(interface: Interface) -> type[float] | type[np.float32] | None:
    """The type of the seed of a function that returns one real number, and nothing else."""
    kinds = interface.results
    if interface.returns_tuple or len(kinds) != 1 or kinds[0] not in (F32, F64):
        return None
    return np.float32 if kinds[0] is F32 else float


class Pullback:
    """The reverse sweep at one point: `pullback(seed, **cotangents)` gives the gradients, however often.

    `seed` is the cotangent of the return value (a tuple if the function returns one, default 1.0 for a
    scalar); cotangents of the final values of written arrays go by name and default to zero. Those of complex values
    pair with them as JAX's do: du = Re(cotangent * dz).
    """

    def __init__(
        self, run: ReverseRun, args: Arguments, workspace: Workspace, shapes: tuple[tuple[int, ...], ...]
    ) -> None:
        self.run, self.args, self.workspace, self.shapes = run, args, workspace, shapes
        self.interface = run.interface
        self.lock = Lock()
        self.pristine = [(i, workspace.arrays[i].copy()) for i in run.worn]
        self.marks = run.marks(args)

    def __call__(self, /, *seed: Any, **cotangents: Any) -> Any:
        """Gradients in `wrt` order.

        Raises ArgumentError: LD340 for a seed, LD341 for a cotangent that does not fit, LD342 for the name of
        an array that the function does not write, LD348 if an array that is needed was changed.
        """
        run, workspace = self.run, self.workspace
        if "seed" in cotangents and "seed" not in run.spec.written:
            seed = (*seed, cotangents.pop("seed"))
        if len(seed) > 1:
            raise ArgumentError(reject("LD340", f"a pullback takes one seed, was given {len(seed)}", NOWHERE))
        is_plain = run.plain_seed is not None and (not seed or type(seed[0]) is float)
        seeds = [run.plain_seed(*seed or (1.0,))] if run.plain_seed is not None and is_plain else self.seeds(*seed)
        given = self.cotangents(cotangents) if cotangents else None
        found = run.marks(self.args)
        if found != self.marks:
            self.refuse_changes(found)
        with self.lock:
            for i, saved in self.pristine:
                np.copyto(workspace.arrays[i], saved)
            buffers = run.make_buffers(self.args, workspace, given)
            arrays = workspace.arrays[: run.workspace_size]
            slopes = run.reverse(*run.undisturbed(self.args), *arrays, *seeds, *buffers)
        found = run.collect(buffers, slopes)
        return found if run.is_real else self.interface.gradients(found)

    def refuse_changes(self, found: list[Mark]) -> NoReturn:
        """Raise ArgumentError (LD348) with the arrays whose marks are not what they were after the forward sweep."""
        marked = zip(self.run.kept, found, self.marks, strict=True)
        changed = [self.run.ls.params[i] for i, now, then in marked if now != then]
        needed = ", ".join(f"`{n}`" for n in changed)
        message = f"{needed} {'was' if len(changed) == 1 else 'were'} changed after the forward sweep"
        raise ArgumentError(reject("LD348", message, self.run.ls.loc))

    def __del__(self) -> None:
        workspace = getattr(self, "workspace", None)
        if workspace is not None:
            self.run.arena.give(workspace)

    def seeds(self, seed: Any = None) -> list[Any]:
        """One value per floating result, in its type; of a complex scalar its two parts."""
        run, kinds = self.run, self.interface.results
        if not kinds:
            if seed is not None:
                raise ArgumentError(reject("LD340", f"`{run.ls.name}` returns nothing: it takes no seed", NOWHERE))
            return []
        values = self.spread(seed)
        out: list[Any] = []
        for position, (kind, shape, value) in enumerate(zip(kinds, self.shapes, values, strict=True)):
            what = f"the seed of result {position}" if self.interface.returns_tuple else "the seed"
            if isinstance(kind, ArrayType) and has_slope(kind):
                array = checked_array(what, kind, shape, value, "LD340")
                out += self.interface.seed_parts(kind, np.array(array, kind.dtype, order="C", copy=True))
            elif isinstance(kind, ScalarType) and has_slope(kind):
                out += self.interface.seed_parts(kind, checked_scalar(what, kind, value, "LD340"))
            elif value is not None and np.any(value):
                message = f"{what} is not zero, and that result is not floating-point"
                raise ArgumentError(reject("LD340", message, NOWHERE))
        return out

    def spread(self, seed: Any) -> Sequence[Any]:
        """The seed of each result."""
        kinds = self.interface.results
        if self.interface.returns_tuple:
            if not isinstance(seed, tuple | list) or len(seed) != len(kinds):
                message = f"`{self.run.ls.name}` returns {len(kinds)} values: the seed is a tuple of as many"
                raise ArgumentError(reject("LD340", message, NOWHERE))
            return seed
        if seed is None and isinstance(kinds[0], ScalarType):
            return (1.0 if has_slope(kinds[0]) else None,)
        return (seed,)

    def cotangents(self, given: Mapping[str, Any]) -> dict[int, np.ndarray]:
        """Cotangents by argument position."""
        run, out = self.run, {}
        recipes = run.recipe_of
        for name, value in given.items():
            if name not in run.spec.written or name not in recipes:
                writes = ", ".join(f"`{n}`" for n in recipes if n in run.spec.written) or "no floating array"
                message = f"`{name}` gets no cotangent: `{run.ls.name}` writes {writes}"
                raise ArgumentError(reject("LD342", message, NOWHERE))
            recipe, kind = recipes[name], self.interface.types[name]
            assert isinstance(kind, ArrayType)
            shape = self.args[recipe.position].shape[: kind.rank]
            if not (recipe.fits(value) and value.shape == shape):
                value = checked_array(f"the cotangent of `{name}`", kind, shape, value, "LD341")
            if is_complex(kind):
                value = pairs(np.conjugate(value, dtype=kind.dtype))
            out[recipe.position] = value
        return out
