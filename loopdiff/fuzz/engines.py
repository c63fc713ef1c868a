"""Two ways to run a program and its derivatives: the interpreter on the sweeps, and the compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from loopdiff.ad.tape.sweeps import SweepForm, Sweeps
from loopdiff.api import vectorize_grad
from loopdiff.backends.cpu.threads import pool
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.extents import agree, without_axes
from loopdiff.fuzz.memory import Watched, again
from loopdiff.fuzz.program import RandomProgram
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import compile_loopset
from loopdiff.ir.names import tail_names
from loopdiff.ir.types import INT
from loopdiff.ir.walk import written_arrays
from loopdiff.pipeline import derive
from loopdiff.pipeline.stages import Stages
from loopdiff.schedule.blocks.sweeps import block_primal, block_sweeps
from loopdiff.settings.options import TapePolicy
from loopdiff.source.functions import source_of
from loopdiff.specialize.interface import conjugated, in_parts, interface_of, whole
from loopdiff.specialize.results import is_floating, result_types

T = TypeVar("T")
Values = dict[str, Any]
Runner = Callable[[Mapping[str, Any]], tuple[Any, ...]]
ROWS = 2
MOST_INTERPRETED = 200  # elements of an array


class Engine(Protocol):
    """Runs a program on arguments by name, in place, as Python would.

    Outputs are named `result_0`, ... and after the written arrays. `tangents` gives all outputs and the slopes
    of the floating ones; `gradients` all outputs, and the gradients of `wrt` for weights of the floating ones.
    `is_ready`: such arguments need nothing compiled that others did not.
    """

    name: str
    written: frozenset[str]
    watched: Watched | None

    def is_ready(self, args: Values) -> bool: ...

    def outputs(self, args: Values) -> Values: ...

    def tangents(self, args: Values, directions: Values) -> tuple[Values, Values]: ...

    def gradients(self, args: Values, weights: Values, policy: TapePolicy) -> tuple[Values, Values]: ...


def named(results: Any, args: Mapping[str, Any], written: frozenset[str]) -> Values:
    """What a call returned and left behind, as outputs."""
    values = () if results is None else results if isinstance(results, tuple) else (results,)
    return {f"result_{k}": v for k, v in enumerate(values)} | {n: v for n, v in args.items() if n in written}


def deep_copied(args: Mapping[str, Any]) -> Values:
    """Arrays anew, guarded ones with the same strides in guarded memory of their own."""
    return {n: again(v) if isinstance(v, np.ndarray) else v for n, v in args.items()}


@immutable
class Plan:
    """Sweeps ready to run."""

    sweeps: Sweeps
    allocate: Callable[[Values], Values]
    forward: Runner
    reverse: Runner


class Keeping(Stages):
    """Keeps the last result of every stage."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.results: dict[str, Any] = {}

    def run(self, stage: str, build: Callable[..., T], *args: object) -> T:
        found = self.results[stage] = super().run(stage, build, *args)
        return found


class Interpreted:
    """The LoopSets of a program, executed by the reference interpreter."""

    name = "interpreted"
    watched: Watched | None = None

    def __init__(self, program: RandomProgram) -> None:
        function = program.function()
        self.names = program.wrt
        self.stages = Keeping(function.__name__)
        types = argument_types(program.values(program.sizes[0]))
        surface = derive.read(source_of(function), Sources(), types, self.stages).ls
        self.normal = derive.lower(surface, types, self.stages)
        self.interface = interface_of(self.stages.results["bound"], self.normal)
        self.wrt = self.interface.expanded(program.wrt)
        self.written = written_arrays(self.normal.body) & frozenset(self.normal.params)
        self.kinds = result_types(self.normal)
        self.form: SweepForm = "pullback" if program.seed % 2 else "sums"
        self.plans: dict[TapePolicy, Plan] = {}

    def is_ready(self, args: Values) -> bool:
        return all(v.size <= MOST_INTERPRETED for v in args.values() if isinstance(v, np.ndarray))

    @cached_property
    def primal(self) -> Runner:
        return compile_loopset(self.normal)

    @cached_property
    def tangent(self) -> tuple[dict[str, str], Runner]:
        ls = derive.derive_tangent(self.normal, self.wrt, self.stages)
        count = len(self.normal.params)
        return tail_names(ls.params[count:], self.normal.params, "_tan"), compile_loopset(ls)

    def plan(self, policy: TapePolicy) -> Plan:
        if policy not in self.plans:
            found = derive.derive_sweeps(self.normal, self.wrt, policy, self.stages, self.form)
            forward, reverse, _ = block_sweeps(found.forward, found.reverse, ROWS)
            found = replace(found, forward=forward, reverse=reverse)
            runners = compile_loopset(found.forward), compile_loopset(found.reverse)
            self.plans[policy] = Plan(found, workspace_of(found, runners[0]), *runners)
        return self.plans[policy]

    def outputs(self, args: Values) -> Values:
        return self.named(self.primal(self.in_parts(args)), args)

    def in_parts(self, args: Values) -> Values:
        """`args` of the real program; arrays keep their memory."""
        if self.interface.is_real:
            return args
        found: Values = {}
        for name, value in args.items():
            parts = in_parts(self.interface.types[name], value)
            found |= zip(self.interface.parts[name], parts, strict=True)
        return found

    def named(self, found: Iterable[Any], args: Values) -> Values:
        return named(self.interface.own_results(found), args, self.written)

    def tangents(self, args: Values, directions: Values) -> tuple[Values, Values]:
        buffers, run = self.tangent
        parts, given = self.in_parts(args), self.in_parts(directions)
        slopes: Values = {}
        for name in buffers:
            value, slope = parts[name], given.get(name, 0.0)
            slopes[name] = np.zeros(value.shape, value.dtype) + slope if isinstance(value, np.ndarray) else float(slope)
        found = run({**parts, **{buffers[n]: v for n, v in slopes.items()}})
        count = len(self.kinds)
        pushed = iter(found[count:])
        of_results = self.interface.own_results([next(pushed) if is_floating(k) else None for k in self.kinds])
        of_arrays = {n: whole(self.interface.types[n], iter([v])) for n, v in slopes.items() if n in self.written}
        by_name = {f"result_{k}": v for k, v in enumerate(of_results) if v is not None}
        return self.named(found[:count], args), by_name | of_arrays

    def gradients(self, args: Values, weights: Values, policy: TapePolicy) -> tuple[Values, Values]:
        plan, interface, parts = self.plan(policy), self.interface, self.in_parts(args)
        state = plan.allocate(parts)
        found = deep_copied(self.named(plan.forward(state), args))
        kinds = {f"result_{k}": kind for k, kind in enumerate(interface.results)} | dict(interface.types)
        split = {n: interface.seed_parts(kinds[n], deep_copied({n: w})[n]) for n, w in weights.items()}
        seeds = [part for k in range(len(interface.results)) for part in split.get(f"result_{k}", ())]
        tail = plan.sweeps.reverse.params[len(plan.sweeps.forward.params) :]
        given: Values = dict(zip(tail[: len(seeds)], seeds, strict=True))
        arrays = [p for p in self.normal.params if self.normal.has_array(p)]
        buffers = tail_names(tail[len(seeds) :], arrays, "_adj")
        adjoints = {}
        for name, buffer in buffers.items():
            is_started = plan.sweeps.reverse.array(buffer).extents is not None
            start = np.nan if is_started else split.get(name, (0.0,))[0]
            adjoints[name] = np.zeros(parts[name].shape, parts[name].dtype) + start
        scalars = plan.reverse({**state, **given, **{buffers[n]: v for n, v in adjoints.items()}})
        names = [s.name for s in self.normal.scalars if s.name in self.wrt]
        gradients = adjoints | dict(zip(names, scalars, strict=True))
        flat = iter([gradients[n] for n in self.wrt])
        return found, {n: conjugated(whole(interface.types[n], flat)) for n in self.names}

    @cached_property
    def one_pass(self) -> Runner | None:
        """Value and gradients of a function with one real result as one function, where loopdiff would make that."""
        kinds = [self.normal.array(n).type for n in self.wrt if self.normal.has_array(n)]
        if self.interface.number is None or not all(k is not None and k.rank > 0 for k in kinds):
            return None
        sweeps = derive.derive_sweeps(self.normal, self.wrt, "auto", self.stages, "gradient")
        if sweeps.count_names:
            return None
        found = derive.derive_one_pass(self.normal, sweeps.forward, sweeps.reverse, self.wrt, self.stages)
        return None if found is None else compile_loopset(block_primal(found, ROWS))

    def value_and_gradients(self, args: Values) -> tuple[Values, Values] | None:
        """The outputs, and the gradients of the result by `wrt`."""
        if self.one_pass is None:
            return None
        value, *gradients = self.one_pass(args)
        return self.named([value], args), dict(zip(self.names, gradients, strict=True))


@contextmanager
def eager_threads(is_wanted: bool) -> Iterator[None]:
    """Loops of any length run on several threads meanwhile, where they may."""
    pool.word(pool.EAGER).value = int(is_wanted)
    try:
        yield
    finally:
        pool.word(pool.EAGER).value = 0


class Compiled:
    """The public interface of the decorated program."""

    name = "compiled"

    def __init__(self, program: RandomProgram, watched: Watched) -> None:
        self.watched: Watched | None = watched
        self.wrt, self.setting = program.wrt, program.setting
        function, options = program.function(), program.setting.options
        self.decorate = cache(
            lambda policy: vectorize_grad(wrt=program.wrt, tape=policy, cache=False, **options)(function)
        )
        self.types = argument_types(program.values(program.sizes[0]))
        self.spec = self.decorate("auto").specialize(self.types)
        self.written = self.spec.written

    def is_ready(self, args: Values) -> bool:
        types = argument_types(args)
        return without_axes(types) == without_axes(self.types) and agree(types, self.types, self.spec.asked)

    def outputs(self, args: Values) -> Values:
        return named(self.decorate("auto")(*args.values()), args, self.written)

    def tangents(self, args: Values, directions: Values) -> tuple[Values, Values]:
        results, tangents = self.decorate("auto").jvp(tuple(args.values()), directions)
        # By position: an argument may have the name `result` too.
        has_results = results is not None
        pushed = named(tangents[0] if has_results else None, {}, frozenset())
        of_results = {n: v for n, v in pushed.items() if v is not None}
        arrays = [n for n, v in args.items() if n in self.written and v.dtype.kind in "fc"]
        return named(results, args, self.written), of_results | dict(zip(arrays, tangents[has_results:], strict=True))

    def gradients(self, args: Values, weights: Values, policy: TapePolicy) -> tuple[Values, Values]:
        results, pullback = self.decorate(policy).vjp(*args.values())
        found = deep_copied(named(results, args, self.written))
        seeds = tuple(weights.get(n, np.zeros(np.shape(v))) for n, v in found.items() if n.startswith("result_"))
        seed = () if not seeds else (seeds,) if isinstance(results, tuple) else seeds
        cotangents = {n: w for n, w in weights.items() if n in self.written}
        first = pullback(*seed, **cotangents)
        kept = deep_copied(first._asdict())
        for name, value in pullback(*seed, **cotangents)._asdict().items():
            np.testing.assert_array_equal(value, kept[name], err_msg=f"second pullback, {name}")
        return found, kept


def workspace_of(sweeps: Sweeps, forward: Runner) -> Callable[[Values], Values]:
    """Makes the arguments of the forward sweep from those of the program: workspace arrays are poisoned with NaN."""
    ls = sweeps.forward
    arrays = tuple(a for a in ls.arrays if a.role == "argument")
    made = [ls.array(n) for n in ls.params if ls.has_array(n) and ls.array(n) not in arrays]
    scalars = (*ls.scalars, *(ir.ScalarDecl(name, INT) for name in sweeps.count_names))
    names = [*(a.name for a in arrays), *(s.name for s in scalars)]
    extents = tuple(ir.ScalarResult(e) for decl in made for e in decl.extents or ())
    measure = compile_loopset(ir.LoopSet("extents", tuple(names), arrays, scalars, (), extents, returns_tuple=True))
    counts = None if sweeps.counts is None else compile_loopset(sweeps.counts)

    def allocate(args: Values) -> Values:
        empty = (0,) * len(sweeps.count_names)
        if counts is not None:
            return held_for(args, counts(deep_copied(args)))
        if not sweeps.count_tapes:
            return held_for(args, empty)
        counted = held_for(deep_copied(args), empty)
        forward(counted)
        return held_for(args, [counted[name][0] for name in sweeps.count_tapes])

    def held_for(args: Values, totals: Sequence[Any]) -> Values:
        found = iter(measure({**args, **dict(zip(sweeps.count_names, map(int, totals), strict=True))}))
        held = dict(args)
        for decl in made:
            assert decl.type is not None
            shape = tuple(int(next(found)) for _ in decl.extents or ())
            held[decl.name] = np.full(shape, np.nan if decl.type.element.is_float else 0, decl.type.dtype)
        return held

    return allocate
