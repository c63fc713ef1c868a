"""The generated functions of one signature, for callers that bring their own buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from loopdiff.cache.keys import digest_of
from loopdiff.calls.runs import ReverseRun, sweeps_of
from loopdiff.calls.sweep_entry_points import may_grow
from loopdiff.errors import ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_loopset
from loopdiff.ir.walk import written_arrays
from loopdiff.memory.arena import allocate, size_in_bytes
from loopdiff.memory.guards import is_compared_whole
from loopdiff.memory.host import HOST, layout_preserving_copy
from loopdiff.pipeline.code import arrange_for_target, explain_loops, predict_loops
from loopdiff.pipeline.derive import derive_checks
from loopdiff.settings.requests import NOTHING
from loopdiff.source.words import Text
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import Temporary, Unit

if TYPE_CHECKING:
    from loopdiff.calls.generated import Generated, UncheckedCalls
    from loopdiff.report.memory_course import Claim, MemoryCourse, Phase

REVERSE = ("reverse", "pullback", "gradient")
HELD = {"local": "an array of the program", "adjoint": "the adjoint of an array"}
QUICK = 1e8  # nanoseconds that `explain` may spend on a run without being asked to


class CompiledGradient:
    """The generated functions of one signature and what was decided for them.

    `primal`, `forward`, `reverse`, `pullback`, `gradient` and `tangent` are callable from Python, where every buffer is
    checked, and from `@njit` code, where none is; `signature` lists their parameters. `unchecked` has the same
    functions without the checks.
    """

    def __init__(self, spec: Specialization, run: ReverseRun, refusal: str, args: tuple[Any, ...] | None) -> None:
        """`refusal`: why calls with these arguments are refused, if they are."""
        self.spec, self.run, self.refusal, self.args = spec, run, refusal, args
        self.made: dict[str, Generated] = {}

    def __repr__(self) -> str:
        from loopdiff.specialize.explain import header

        return f"<generated functions of {header(self.spec)}: {', '.join(self.functions)}>"

    def unit(self, name: str) -> Unit:
        """The function `name` with its LoopSet. Raises ValueError for a name that is none of `functions`."""
        match name:
            case "primal":
                return self.spec.primal
            case "forward":
                return self.run.units.forward
            case "reverse":
                return self.run.units.reverse
            case "pullback":
                return sweeps_of(self.spec, name).units.reverse
            case "gradient":
                return self.spec.one_pass or sweeps_of(self.spec, name).units.reverse
            case "tangent":
                return self.spec.tangent
            case "counts" if (counts := self.run.units.counts) is not None:
                return counts
            case _:
                raise ValueError(f"no function {name!r}; there are {', '.join(self.functions)}")

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the generated functions.

        `pullback` and `gradient` are the reverse sweep as `vjp` and `value_and_grad` run it, in buffers that hold
        anything; `gradient` may be both sweeps in one pass. `counts`, which sizes tapes of data-dependent extent, is
        rarely there.
        """
        counts = () if self.run.units.plan.counts is None else ("counts",)
        return ("primal", "forward", "reverse", "pullback", "gradient", "tangent", *counts)

    def generated(self, name: str) -> Generated:
        """The function `name` behind the checks of its buffers."""
        found = self.made.get(name)
        if found is None:
            unit, plan = self.unit(name), self.run.units.plan
            fills_blindly = name == "forward" and not plan.count_tapes and bool(plan.count_names)
            counts = self.run.counts if fills_blindly else None
            from loopdiff.calls.entry_checks import EntryChecks
            from loopdiff.calls.generated import Generated

            checks = EntryChecks(self.spec, unit, name, plan.count_names, counts)
            found = self.made[name] = Generated(name, unit, checks, partial(self.look, name, unit, checks.like))
        return found

    def look(self, name: str, unit: Unit, like: Mapping[str, str]) -> Callable[..., None] | None:
        """What looks into arrays that decide where a reverse sweep reads and writes; None where none does."""
        if name not in REVERSE or unit is self.spec.one_pass:
            return None
        spec, count_names = self.spec, self.run.units.plan.count_names
        label = f"checks-{name}-{self.run.label}-{digest_of(list(spec.wrt))[:12]}".replace(" ", "-")
        ls = spec.kept(label, lambda: derive_checks(unit.ls, like, count_names, spec.stages))
        return looker(spec.once(f"{label} code", lambda: spec.unit(f"{label}-code", ls))) if ls.body else None

    @property
    def primal(self) -> Generated:
        return self.generated("primal")

    @property
    def forward(self) -> Generated:
        return self.generated("forward")

    @property
    def reverse(self) -> Generated:
        return self.generated("reverse")

    @property
    def pullback(self) -> Generated:
        return self.generated("pullback")

    @property
    def gradient(self) -> Generated:
        return self.generated("gradient")

    @property
    def tangent(self) -> Generated:
        return self.generated("tangent")

    @property
    def counts(self) -> Generated:
        return self.generated("counts")

    @cached_property
    def unchecked(self) -> UncheckedCalls:
        """The functions without the checks, which trust their buffers: for calls that these would slow down."""
        from loopdiff.calls.generated import UncheckedCalls

        return UncheckedCalls(self.unit)

    @property
    def wrt(self) -> tuple[str, ...]:
        return self.spec.wrt_of_caller

    def signature(self, name: str) -> tuple[str, ...]:
        """Parameter names of a function, in order."""
        return self.unit(name).ls.params

    def workspace(self, *args: Any) -> tuple[np.ndarray, ...]:
        """Fresh arrays to pass to `forward` and `reverse` after the arguments, here of any types and layouts."""
        run, arena, count = self.run, self.run.arena, self.run.workspace_size
        args = tuple(as_compiled(self.spec.normal, n, a) for n, a in zip(self.spec.normal.params, args, strict=True))
        try:
            return allocate(run.sizes(args)[:count], arena.dtypes[:count], arena.orders[:count])
        except MemoryError as error:
            raise run.needs.refusal(args, error) from None

    @property
    def temporaries(self) -> tuple[Temporary, ...]:
        """What is kept between the sweeps."""
        found = self.run.units.plan.temporaries
        if self.args is None:
            return found
        names = self.run.units.plan.forward.params[len(self.spec.normal.params) :]
        shapes = dict(zip(names, self.run.sizes(self.args), strict=False))
        return tuple(
            replace(t, bytes=size_in_bytes(shapes[t.name], np.dtype(t.dtype))) if t.name in shapes else t for t in found
        )

    @property
    def memory(self) -> MemoryCourse:
        """Which arrays both sweeps hold when, predicted for the arguments, from the sizes that `temporaries` have and
        the times that `explain` says. Raises ArgumentError (LD346) where only types of arguments are known."""
        from loopdiff.calls.stopwatch import shapes_of
        from loopdiff.report.memory_course import SweepCourse, memory_course

        if self.args is None:
            message = "what sweeps hold is predicted for arguments, and these are types"
            raise ArgumentError(reject("LD346", message, self.spec.normal.loc))
        sweeps: list[SweepCourse] = []
        values = dict(zip(self.spec.normal.params, self.args, strict=True))
        for unit in (self.unit("forward"), self.unit("reverse")):
            if self.spec.options.is_for_cpu:
                arranged = self.spec.arranged(unit)
                found = predict_loops(arranged, shapes_of(self.run, self.args), values)
                sweeps.append(SweepCourse(arranged.ls, found))
            else:
                sweeps.append(SweepCourse(unit.ls, None))
        claims = claims_of(self.run, self.args, self.temporaries)
        return memory_course(self.spec.normal.name, claims, *sweeps)

    def source(self, name: str) -> Text:
        """The generated Python source of a function."""
        return Text(self.unit(name).function.source)

    def path(self, name: str) -> Path:
        """The file of a generated function."""
        return self.unit(name).function.path

    def ir(self, stage: str) -> Text:
        """The LoopSet of a stage as text: `surface`, `bound`, `normal` or one of the functions."""
        match stage:
            case "surface":
                ls = self.spec.surface.ls
            case "bound":
                ls = self.spec.bound
            case "normal":
                ls = self.spec.normal
            case _:
                ls = self.unit(stage).ls
        return Text(print_loopset(ls))

    def asm(self, name: str) -> Text:
        """The machine code of a function, as assembly text."""
        from loopdiff.backends.cpu.direct import Direct

        dispatcher: Any = self.unit(name).dispatcher
        options = {k: v for k, v in dispatcher.targetoptions.items() if k != "nopython"}
        # Numba cannot inspect code that it loaded from disk.
        fresh: Any = numba.njit(pipeline_class=Direct, **options)(dispatcher.py_func)
        for signature in dispatcher.signatures:
            fresh.compile(signature)
        return Text("\n".join(fresh.inspect_asm(signature) for signature in fresh.signatures))

    @property
    def timings(self) -> dict[str, float]:
        """Seconds that each stage took in this process, in order; stages loaded from disk are absent."""
        return {**self.spec.program.stages.seconds, **self.spec.stages.seconds}

    def explain(self, measure: bool | None = None) -> Text:
        """What was decided and why: loops, temporaries, values without derivative.

        With arguments, not just their types, also the time that the cost model predicts for the sweeps, and the time
        that they take, on copies of the arguments. `measure`: whether to take the time; if None (default), where the
        prediction is below a tenth of a second and the memory limit allows for them.
        """
        from loopdiff.calls.stopwatch import shapes_of
        from loopdiff.specialize.explain import Sweep, explain

        shapes = None if self.args is None else shapes_of(self.run, self.args)
        values = dict(zip(self.spec.normal.params, self.args or (), strict=False))
        units = [self.unit(n) for n in ("forward", "reverse")]
        if not self.spec.options.is_for_cpu:
            found = [self.spec.explain_for_cuda(u, shapes, values) for u in units]
            sweeps = [Sweep(n, *f, None) for n, f in zip(("forward", "reverse"), found, strict=True)]
            return explain(self.spec, self.refusal, sweeps, "", self.temporaries)
        found = [explain_loops(self.spec.arranged(u), shapes, values) for u in units]
        predicted = [ns for _, ns in found if ns is not None]
        is_quick = sum(predicted) < QUICK and not self.refusal
        is_measured = bool(predicted) and (is_quick if measure is None else measure)
        seconds = self.seconds(is_forced=bool(measure)) if is_measured else (None, None)
        sweeps = [Sweep(n, *f, took) for n, f, took in zip(("forward", "reverse"), found, seconds, strict=True)]
        return explain(self.spec, self.refusal, sweeps, self.one_pass_text(), self.temporaries)

    def one_pass_text(self) -> str:
        """How both sweeps are scheduled as one; empty where they are not."""
        loops = self.spec.one_pass_loops
        if loops is None:
            return ""
        return explain_loops(arrange_for_target(loops, self.spec.options, NOTHING, self.spec.stages), None, {})[0]

    def seconds(self, is_forced: bool) -> tuple[float | None, float | None]:
        """How long the sweeps take; unless `is_forced`, nothing of arguments that the function refuses."""
        from loopdiff.calls.stopwatch import time_sweeps

        assert self.args is not None
        try:
            return time_sweeps(self.run, self.args)
        except ArgumentError:
            if is_forced:
                raise
            return None, None


def claims_of(run: ReverseRun, args: tuple[Any, ...], temporaries: tuple[Temporary, ...]) -> Iterator[Claim]:
    """The arrays that the sweeps of `run` hold: what is between them, gradients, and copies of what they change."""
    from loopdiff.report.memory_course import Claim

    kept = {t.name: t for t in temporaries}
    sizes = [size_in_bytes(shape, dtype) for shape, dtype in zip(run.sizes(args), run.arena.dtypes, strict=True)]
    is_in_file = run.arena.is_in_file
    for position, (decl, size) in enumerate(zip(run.arena.decls, sizes, strict=True)):
        if is_in_file is not None and is_in_file(position, size):
            continue
        known = kept.get(decl.name)
        is_stored = known is not None and known.decision == "store"
        reason = known.reason if known is not None else HELD.get(decl.role, "how many iterations a loop made")
        yield Claim(decl.name, decl.name, reason, size, is_filled=is_stored)
    names = dict(zip(run.buffers, run.recipes, strict=True))
    for name, recipe in names.items():
        if name in run.spec.wrt:
            size = args[recipe.position].nbytes
            yield Claim(run.buffers[name], f"gradient by {name}", "what the caller gets", size, "reverse")

    def copies(positions: Iterable[int], phase: Phase, reason: str) -> Iterator[Claim]:
        for name, value in ((run.ls.params[i], args[i]) for i in positions):
            yield Claim(name, f"copy of {name}", reason, value.nbytes, phase)

    yield from copies(run.disturbed, "reverse", "the reverse sweep works in it")
    for i in run.worn:
        name = run.arena.decls[i].name
        yield Claim(name, f"copy of {name}", "for the next call of the pullback", sizes[i], "reverse")
    if run.memory is HOST:
        marked = [i for i in run.kept if is_compared_whole(run.spec.options.check, args[i])]
        yield from copies(marked, "reverse", "to see whether it was changed")
    if may_grow(run):
        changed = [i for i, is_touched in enumerate(run.touched) if is_touched]
        yield from copies(changed, "forward", "where the tape turns out too short")


def looker(unit: Unit) -> Callable[..., None]:
    """A function that runs the checks of `unit` on arguments, and leaves these as they are."""
    touched = written_arrays(unit.ls.body)
    copied = [k for k, p in enumerate(unit.ls.params) if p in touched]

    def look(args: tuple[Any, ...]) -> None:
        given = list(args)
        for k in copied:
            given[k] = layout_preserving_copy(args[k])
        unit.run(*given)

    return look


def as_compiled(ls: ir.LoopSet, name: str, value: Any) -> Any:
    """An argument in the type and layout that compiled code counts with: a copy, if it is in another one."""
    kind = ls.array(name).type if ls.has_array(name) else None
    return value if kind is None else np.asarray(value, kind.dtype, order="K" if kind.layout == "A" else kind.layout)
