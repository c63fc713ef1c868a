"""Running compiled sweeps and tangents on a caller's arguments: buffers in, derivatives out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from loopdiff.calls.buffers import recipes_of, scratch_of
from loopdiff.errors import ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import tail_names
from loopdiff.ir.types import F32, ArrayType, ScalarType
from loopdiff.ir.walk import all_statements, read_arrays, subexprs, written_arrays
from loopdiff.memory.arena import Arena, Order, Sizes, Workspace, allocate, sizes_function
from loopdiff.memory.guards import Mixer, mixed
from loopdiff.memory.host import HOST, Memory
from loopdiff.rules.printing import silent
from loopdiff.settings.options import SEGMENT_LEVELS, Options, PlanPolicy
from loopdiff.specialize.interface import Interface
from loopdiff.specialize.results import is_floating
from loopdiff.specialize.shortage import Needs
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import SweepUnits

if TYPE_CHECKING:
    from loopdiff.ad.tape.sweeps import SweepForm

Arguments = tuple[Any, ...]
Counted = dict[tuple[str, ...], tuple[int, ...]]  # counts of iterations by the loops that were counted


def memory_of(options: Options) -> Memory:
    """The memory of the callers' arrays."""
    if options.arrays == "host":
        return HOST
    from loopdiff.memory.device import DEVICE

    return DEVICE


def caller_results(spec: Specialization, value: Any, kept: Collection[int] = ()) -> Any:
    """What compiled code returned as the function's own result; those at the positions `kept` are copied for the
    caller."""
    if not spec.result_types:
        return None
    values = value if isinstance(value, tuple) else (value,)
    copy = memory_of(spec.options).copy
    each = enumerate(zip(spec.result_types, values, strict=False))
    return spec.own_result([own_result(t, v, copy if k in kept else None) for k, (t, v) in each])


def own_result(kind: ScalarType | ArrayType, value: Any, copy: Callable[[np.ndarray], np.ndarray] | None = None) -> Any:
    if isinstance(kind, ArrayType):
        return value if copy is None else copy(value)
    return np.float32(value) if kind is F32 else value


def with_copies_of_written(spec: Specialization, args: Arguments) -> Arguments:
    """`args` with copies of the arrays that the function writes."""
    copy = memory_of(spec.options).copy
    return tuple(copy(a) if n in spec.written else a for n, a in zip(spec.normal.params, args, strict=True))


def mixer(is_parallel: bool) -> Mixer:
    """`mixed`, or what gives the same on several threads."""
    if not is_parallel:
        return mixed
    from loopdiff.memory.checksums import mixed_on_threads

    return mixed_on_threads


class ReverseRun:
    """Forward and reverse sweep of one specialization, in one form under one tape policy, which `label` says."""

    def __init__(self, spec: Specialization, units: SweepUnits, label: str) -> None:
        self.spec, self.label = spec, label
        self.mix, self.memory = mixer(spec.options.parallel), memory_of(spec.options)
        self.interface, self.is_real = spec.interface, spec.interface.is_real
        self.units = units
        self.ls = spec.normal
        self.count_args = len(self.ls.params)
        forward, reverse = units.plan.forward, units.plan.reverse
        self.kinds = spec.result_types
        self.has_array_result = any(isinstance(k, ArrayType) for k in self.interface.results)
        self.plain_seed = plain_seed(self.interface)
        tail = reverse.params[len(forward.params) :]
        seeds = sum(is_floating(k) for k in self.kinds)
        self.seed_names = tail[:seeds]
        touched = written_arrays(reverse.body)
        self.is_seed_read_only = tuple(spec.options.is_for_cpu and n not in touched for n in self.seed_names)
        arrays = [p for p in self.ls.params if self.ls.has_array(p)]
        self.buffers = tail_names(tail[seeds:], arrays, "_adj")
        self.plan_buffers(reverse)
        loaded = read_arrays(reverse.body) | touched
        self.kept = tuple(i for i, p in enumerate(self.ls.params) if p in loaded and self.ls.has_array(p))
        self.disturbed = tuple(i for i, p in enumerate(self.ls.params) if p in touched)
        decls = [reverse.array(n) for n in forward.params[self.count_args :]]
        anew = {s.array for s in reverse.body if isinstance(s, ir.Allocate)}
        left = written_arrays(forward.body)  # there is nothing in others before the reverse sweep
        worn = (d.name in (touched & left) - anew and d.role != "adjoint" for d in decls)
        self.worn = tuple(i for i, is_worn in enumerate(worn) if is_worn)
        scratch = [reverse.array(self.buffers[p]) for p in self.scratch]
        self.workspace_size = len(decls)
        self.handed_out = handed_out(forward, self.count_args, loaded) if is_movable(spec.options) else {}
        extents = [e for d in decls for extent in d.extents or () for e in subexprs(extent)]
        measured = {e.access.array for e in extents if isinstance(e, ir.Load)}
        self.measured = tuple(i for i, p in enumerate(self.ls.params) if p in measured)
        counting = written_arrays((units.plan.counts or forward).body)
        self.touched = tuple(p in counting for p in self.ls.params)
        self.counters = tuple(forward.params.index(n) - self.count_args for n in units.plan.count_tapes)
        parameters = (*self.ls.params, *units.plan.count_names)
        self.arena = make_arena(self.ls, parameters, decls, scratch, self.scratch)
        self.arena.make, self.arena.place = self.memory.allocate, self.memory.place
        if spec.options.spill is not None:
            self.spill_into(spec.options.spill)
        if spec.options.target == "cuda" and spec.options.arrays == "host" and not self.worn:
            self.arena.make = partial(on_device, self.workspace_size)

    def spill_into(self, folder: str) -> None:
        """Keep what goes from the forward to the reverse sweep in files of a folder."""
        from loopdiff.memory.spilled import Spill

        stored = {t.name for t in self.units.plan.temporaries if t.decision == "store"}
        spill = Spill(folder, frozenset(k for k, d in enumerate(self.arena.decls) if d.name in stored))
        self.arena.make, self.arena.is_in_file = spill.allocate, spill.is_in_file

    def plan_buffers(self, reverse: ir.LoopSet) -> None:
        """How the buffer of each argument is made, and where each gradient comes from."""
        wrt = self.spec.wrt
        self.scratch = scratch_of(reverse, self.buffers, wrt)
        self.recipes = recipes_of(self.ls, reverse, self.buffers, wrt)
        named = zip(self.buffers, self.recipes, strict=True)
        self.takers = {name: recipe for name, recipe in named if name in self.spec.written}

    # -- memory ----------------------------------------------------------------------------------------------
    def seed_array(self, number: int, kind: ArrayType, given: np.ndarray) -> np.ndarray:
        """The seed `number`, an array of `kind`, as the reverse sweep takes it: the caller's own where it only reads
        that."""
        dtype = np.dtype(kind.slope.dtype)
        if self.is_real and self.is_seed_read_only[number] and given.dtype == dtype and given.flags.carray:
            return given
        return self.memory.cast(given, dtype, "C", None)

    @property
    def needs(self) -> Needs:
        """What there has to be memory for."""
        plan = self.units.plan
        has_tape = self.workspace_size > 0
        sweeps = (plan.forward, plan.reverse)
        return Needs(self.ls.name, self.ls.params, sweeps, plan.count_names, self.counts, has_tape)

    def counts(self, args: Arguments) -> tuple[int, ...]:
        """Totals that size tapes of data-dependent extent; counting works on copies of what it writes."""
        unit = self.units.counts
        if self.units.plan.count_tapes:
            return self.counts_of_forward(args)
        if unit is None:
            return ()
        copies = [self.memory.copy(a) if is_touched else a for a, is_touched in zip(args, self.touched, strict=True)]
        found = unit.run(*copies)
        return tuple(found) if isinstance(found, tuple) else (found,)

    def counts_of_forward(self, args: Arguments) -> tuple[int, ...]:
        """The totals that the forward sweep finds on empty tapes and copies of what it writes."""
        unit, plan, count = self.units.forward, self.units.plan, self.workspace_size
        copies = [self.memory.copy(a) if is_touched else a for a, is_touched in zip(args, self.touched, strict=True)]
        sizes = self.arena.sizes((*self.readable(args), *(0 for _ in plan.count_names)))[:count]
        workspace = self.memory.allocate(sizes, self.arena.dtypes[:count], self.arena.orders[:count])
        with silent():
            unit.run(*copies, *workspace)
        found = self.memory.readable(tuple(workspace[k] for k in self.counters))
        return tuple(int(tape[0]) for tape in found)

    def readable(self, args: Arguments) -> Arguments:
        """The arguments, with those readable whose elements say how large arrays are."""
        if not self.measured:
            return args
        found = dict(zip(self.measured, self.memory.readable(tuple(args[i] for i in self.measured)), strict=True))
        return tuple(found.get(i, a) for i, a in enumerate(args))

    def sizes(self, args: Arguments, known: Counted | None = None) -> Sizes:
        """Shapes of all that the sweeps keep. Counts that are `known` of these arguments are not found again."""
        readable, plan = self.readable(args), self.units.plan
        if not plan.count_names:
            return self.arena.sizes(readable)
        found = {} if known is None else known
        if plan.counted not in found:
            found[plan.counted] = self.counts(args)
        return self.arena.sizes((*readable, *found[plan.counted]))

    def least_sizes(self, args: Arguments) -> Sizes:
        """Shapes of what the sweeps keep at least: if no loop runs whose length is not known. Nothing is counted."""
        return self.arena.sizes((*self.readable(args), *(0 for _ in self.units.plan.count_names)))

    def take(self, args: Arguments) -> Workspace:
        return self.arena.take(self.sizes(args))


def with_spare(counts: Iterable[int], part: int) -> tuple[int, ...]:
    """`counts` with some room: `part` more, and one in `part`."""
    return tuple(n + n // part + part for n in counts)


def on_device(count: int, sizes: Sizes, dtypes: Sequence[Any], orders: Sequence[Order]) -> tuple[np.ndarray, ...]:
    """Uninitialised arrays, the first `count` of them the device's: what only sweeps look into stays there."""
    from loopdiff.backends.cuda.driver import the_driver

    each = zip(sizes[:count], dtypes, orders, strict=False)
    there = tuple(the_driver().empty(shape, dtype, order) for shape, dtype, order in each)
    return (*there, *allocate(sizes[count:], dtypes[count:], orders[count:]))


def sweeps_of(spec: Specialization, form: SweepForm, tape: PlanPolicy | None = None) -> ReverseRun:
    """The sweeps of a specialization in one of their forms, under the tape policy of its options, or under `tape`."""
    policy, form = tape or spec.options.tape, spec.form(form)
    label = f"{form} {policy}"
    return spec.once(f"run {label}", lambda: ReverseRun(spec, spec.sweeps(form, policy), label))


def runs_of(spec: Specialization, form: SweepForm) -> Iterator[ReverseRun]:
    """The sweeps that calls may run in a form, those that repeat less first: under a memory limit, all that may have to
    do with less memory."""
    policies = (spec.options.tape, *(SEGMENT_LEVELS if spec.options.memory_limit is not None else ()))
    for policy in dict.fromkeys(policies):
        run = sweeps_of(spec, form, policy)
        yield run
        if policy in SEGMENT_LEVELS and not run.units.plan.has_segments:
            return


def is_movable(options: Options) -> bool:
    """Whether arrays of the workspace may be anywhere in the host's memory."""
    return options.is_for_cpu and options.arrays == "host" and options.spill is None


def handed_out(forward: ir.LoopSet, count_args: int, loaded: Collection[str]) -> Mapping[int, int]:
    """Places in the workspace of arrays that the function returns, by their number among its results, where the reverse
    sweep looks at nothing in them (`loaded`): the caller gets the array itself, which is made anew for each call."""
    names = [r.array if isinstance(r, ir.ArrayResult) else "" for r in forward.results]
    places = {name: k for k, name in enumerate(forward.params[count_args:])}
    return {k: places[n] for k, n in enumerate(names) if n in places and n not in loaded and names.count(n) == 1}


def limit_of(options: Options) -> int | None:
    """How many bytes sweeps may keep now."""
    if options.memory_limit != "auto":
        return None if options.memory_limit is None else int(options.memory_limit)
    from loopdiff.memory.free import automatic_limit

    return automatic_limit()


def fitting_run(
    spec: Specialization,
    form: SweepForm,
    sizes_for: Callable[[ReverseRun], Sizes],
    limit: int,
    least_for: Callable[[ReverseRun], Sizes] | None = None,
) -> ReverseRun:
    """The first sweeps in a form that keep no more than `limit` bytes. Raises ArgumentError (LD345) if all keep more.

    `sizes_for` gives the shapes of what sweeps keep. To ask for these compiles nothing but what counts iterations, for
    which the forward sweep may run: not if those that it keeps at least, `least_for`, are too large already.
    """
    run, refusal = best_run(spec, form, sizes_for, limit, least_for)
    if refusal:
        raise ArgumentError(reject("LD345", refusal, spec.normal.loc))
    return run


def best_run(
    spec: Specialization,
    form: SweepForm,
    sizes_for: Callable[[ReverseRun], Sizes],
    limit: int,
    least_for: Callable[[ReverseRun], Sizes] | None = None,
) -> tuple[ReverseRun, str]:
    """Those of `fitting_run`, or the sweeps that keep least, and why calls are refused."""
    kept: list[tuple[int, ReverseRun]] = []
    for run in runs_of(spec, form):
        size = 0 if least_for is None else run.arena.bytes(least_for(run))
        if size <= limit and (size := run.arena.bytes(sizes_for(run))) <= limit:
            return run, ""
        kept.append((size, run))
    ordered = sorted(kept, key=lambda found: found[0])
    best = ordered[0][1]
    least = best.arena.bytes(sizes_for(best))
    for size, run in ordered[1:]:  # what keeps more at least than others in all is not run for counting, either
        if size < least and (exact := run.arena.bytes(sizes_for(run))) < least:
            least, best = exact, run
    message = f"`{spec.normal.name}` needs {least} bytes between the sweeps, the limit is {limit}"
    hindered = kept[-1][1].units.plan.hindered
    message += "".join(f"; all of the loop at {loc.in_words} is kept: {reason}" for loc, reason in hindered)
    return best, message


def make_arena(
    ls: ir.LoopSet,
    parameters: Sequence[str],
    decls: Sequence[ir.ArrayDecl],
    buffers: Sequence[ir.ArrayDecl] = (),
    names: Sequence[str] = (),
) -> Arena:
    """Arrays of the workspace of `ls`, then the adjoint buffers that no caller sees, shaped like the arguments `names`.

    `parameters` size them.
    """
    sized = sizes_function(parameters, decls, names)
    steps = (s.loc for s in all_statements(ls.body) if isinstance(s, ir.Require) and s.code == "LD330")
    return Arena(sized, (*decls, *(replace(b, extents=()) for b in buffers)), next(steps, None))


def plain_seed(interface: Interface) -> type[float] | type[np.float32] | None:
    """The type of the seed of a function that returns one real number, and nothing else."""
    match interface.number:
        case None:
            return None
        case kind:
            return np.float32 if kind is F32 else float
