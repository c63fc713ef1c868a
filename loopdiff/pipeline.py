"""The whole compilation on one screen: what is derived from a function, in which order, and nothing else.

    source -> surface                                            read
    surface -> bound -> real -> normal -> strict -> bounds -> checked -> hoisted   lower
    hoisted -> forward + reverse (+ counts)                      derive_sweeps
    hoisted -> tangent                                           derive_tangent
    forward + reverse -> gradient, to start again from           derive_gradient
    forward + reverse -> both in one pass                        derive_one_pass
    forward + reverse -> pullback, likewise                      derive_pullback
    forward + reverse -> the same in blocks                      arrange_rows
    any of these -> loops arranged -> scheduled                  arrange
    scheduled -> generated source                                compile_function
    generated source -> Numba dispatcher                         instantiate

Every step goes through `Stages.run`, which verifies, times and dumps its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError

from loopdiff.backends.load import CompiledFunction, load_function, write_module
from loopdiff.codes import reject
from loopdiff.errors import BackendError
from loopdiff.frontend.capture import ArgumentType
from loopdiff.ir.nodes import LoopSet
from loopdiff.ir.types import BOOL, F32, F64, INT
from loopdiff.options import Options, PlanPolicy
from loopdiff.requests import Request, Requests
from loopdiff.source import SourceFunction
from loopdiff.stages import Stages

if TYPE_CHECKING:
    from loopdiff.ad.sweeps import Form, Sweeps
    from loopdiff.backends.cpu.compile import Style
    from loopdiff.frontend.callees import Sources
    from loopdiff.frontend.parse import Surface
    from loopdiff.transform.launch_plan import LaunchPlan
    from loopdiff.transform.schedule import Arranged
    from loopdiff.units import Plan

MOST_MEASURED = 2  # schedules of a sweep, besides the one that the cost model prefers and one without blocks
SCALARS = {BOOL: "boolean", INT: "int64", F32: "float32", F64: "float64", None: "float64"}


def look_through(source: SourceFunction, sources: Sources, stages: Stages) -> LoopSet | None:
    """The surface LoopSet if it is the same for all types, else None. Raises UnsupportedLoopError (LD1xx) with every
    rejection of a function that can be rejected whatever its arguments are.
    """
    from loopdiff.frontend.parse import parse_surface
    from loopdiff.frontend.parsing.state import TypesNeeded

    try:
        return stages.run("look", parse_surface, source, sources).ls
    except TypesNeeded:
        return None


def read(source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType], stages: Stages) -> Surface:
    """The surface LoopSet for arguments of `types`. Raises UnsupportedLoopError (LD1xx) with every rejection.

    `sources` are those of the functions that it calls.
    """
    from loopdiff.frontend.parse import parse_surface

    found = stages.run("parse", parse_surface, source, sources, types)
    stages.check("surface", found.ls)
    return found


def lower(
    surface: LoopSet, types: Mapping[str, ArgumentType], stages: Stages, fastmath: bool = True
) -> LoopSet:  # fmt: skip
    """The normal LoopSet for arguments of `types`. Raises UnsupportedLoopError (LD2xx)."""
    from loopdiff.frontend.binding.complex_parts import split_complex
    from loopdiff.transform.checks import add_checks
    from loopdiff.transform.hoist import hoist
    from loopdiff.transform.normalize import drop_unused, normalize
    from loopdiff.transform.simplify import simplify
    from loopdiff.transform.strict import keep_decisions

    real = stages.run("real", split_complex, bind_types(surface, types, stages))
    normal = stages.run("normal", normalize, real, True)
    strict = stages.run("strict", partial(keep_decisions, is_strict=not fastmath), normal)
    words = frozenset((*(a.name for a in surface.arrays), *(s.name for s in surface.scalars)))
    # What nothing uses goes only now: that it is read may be what a check is for.
    checked = stages.run("checked", simplify, drop_unused(stages.run("bounds", add_checks, strict, words)))
    return stages.run("hoisted", hoist, checked)


def bind_types(surface: LoopSet, types: Mapping[str, ArgumentType], stages: Stages) -> LoopSet:
    """The LoopSet with the caller's types, complex ones included. Raises UnsupportedLoopError (LD2xx)."""
    from loopdiff.frontend.binding.bind import bind

    return stages.run("bound", bind, surface, types)


def choose_wrt(normal: LoopSet, stages: Stages) -> tuple[str, ...]:
    """The default `wrt`: floating arguments but pure outputs and scratch."""
    from loopdiff.analysis.activity import default_wrt
    from loopdiff.analysis.exposure import exposed_reads
    from loopdiff.analysis.polyhedra import build_model

    model = stages.run("model", build_model, normal)
    exposed = stages.run("flow", exposed_reads, model)
    return default_wrt(normal, frozenset(access.array for _, access in exposed))


def derive_sweeps(
    normal: LoopSet, wrt: tuple[str, ...], tape: PlanPolicy, stages: Stages, form: Form = "sums"
) -> Sweeps:  # fmt: skip
    """Forward and reverse sweep and the plan between them. Raises DifferentiationError (LD4xx).

    In the form `sums` the reverse sweep adds to all buffers. As a `pullback` it is given cotangents of the arrays that
    the function writes, as a `gradient` none; what it is not given starts at zero, whatever the buffers hold, and
    those that are no gradients are left with anything in them.
    """
    from loopdiff.ad.cotangents import keep_cotangents
    from loopdiff.ad.fresh import start_adjoints
    from loopdiff.ad.reverse import build_sweeps
    from loopdiff.transform.zeros import drop_zeros

    sweeps = stages.run("sweeps", build_sweeps, normal, wrt, tape)
    started, forgotten = start_adjoints(normal, sweeps, wrt, form)
    scratch = frozenset(a.name for a in started.arrays if a.extents is not None and a.role == "adjoint")
    sweeps = replace(sweeps, reverse=stages.run("zeros", drop_zeros, started, scratch, forgotten))
    sweeps = stages.run("cotangents", keep_cotangents, sweeps, forgotten)
    stages.check("forward", sweeps.forward)
    stages.check("reverse", sweeps.reverse)
    if sweeps.counts is not None:
        stages.check("counts", sweeps.counts)
    return sweeps


def derive_tangent(normal: LoopSet, wrt: tuple[str, ...], stages: Stages) -> LoopSet:
    """Values and directional derivatives side by side. Raises DifferentiationError (LD4xx)."""
    from loopdiff.ad.forward import build_tangent

    return stages.run("tangent", build_tangent, normal, wrt)


def plain_buffers(ls: LoopSet) -> LoopSet:
    """`ls` with contiguous adjoint and tangent buffers where the argument itself is strided."""
    arrays = tuple(
        replace(a, type=replace(a.type, layout="C"))
        if a.type is not None and a.role in ("adjoint", "gradient", "tangent") and a.type.layout == "A"
        else a
        for a in ls.arrays
    )
    return replace(ls, arrays=arrays)


def arrange_primal_rows(normal: LoopSet, requests: Requests, stages: Stages) -> LoopSet:
    """The function itself, for sums that may run in any order, in row blocks."""
    from loopdiff.transform.blocked import block_primal

    return stages.run("primal rows", partial(block_primal, requests=requests), normal)


def arrange_one_pass(found: LoopSet, stages: Stages) -> LoopSet:
    """What `derive_one_pass` finds in row blocks, its own arrays, then the gradients, as parameters after the
    arguments."""
    from loopdiff.transform.blocked import in_workspace, with_given_results
    from loopdiff.transform.copies import without_copies

    rows = stages.run("copies", without_copies, arrange_primal_rows(found, Requests(), stages))
    return with_given_results(stages.run("workspace", in_workspace, rows))


def arrange_rows(
    forward: LoopSet, reverse: LoopSet, asked: tuple[Requests, Requests], stages: Stages
) -> tuple[LoopSet, LoopSet]:  # fmt: skip
    """The sweeps, for sums that may run in any order, in row blocks where that makes matrices of vectors."""
    from loopdiff.transform.blocked import block_sweeps
    from loopdiff.transform.last_taken import keep_last
    from loopdiff.transform.layout import align_tapes
    from loopdiff.transform.taken import leave_out_others

    forward, reverse = stages.run("last", keep_last, forward, reverse)
    reverse = stages.run("others", leave_out_others, reverse)
    forward, reverse, lanes = stages.run("rows", partial(block_sweeps, asked=asked), forward, reverse)
    forward, reverse = stages.run("layout", align_tapes, forward, reverse, lanes)
    stages.check("forward rows", forward)
    stages.check("reverse rows", reverse)
    return forward, reverse


def derive_gradient(
    normal: LoopSet,
    forward: LoopSet,
    reverse: LoopSet,
    count_names: tuple[str, ...],
    wrt: tuple[str, ...],
    has_value: bool,
    stages: Stages,
) -> LoopSet:
    """The gradient of a function with one floating result as a program of its own, to be derived like `normal`."""
    from loopdiff.ad.gradient import build_gradient, without_value

    found = stages.run("gradient", build_gradient, normal, forward, reverse, count_names, wrt)
    return found if has_value else without_value(found)


def calls_functions(normal: LoopSet) -> bool:
    """Whether elementary functions are evaluated: to keep their values may pay where these stay in the caches."""
    from loopdiff.ad.repeating import has_functions
    from loopdiff.ir.walk import expressions

    return has_functions(expressions(normal))


def derive_one_pass(
    normal: LoopSet, sweeps: Plan | Sweeps, wrt: tuple[str, ...], stages: Stages, in_rows: bool = False
) -> LoopSet | None:  # fmt: skip
    """The value and the gradient of a function with one floating result as one function, where loops of both sweeps run
    together so that less is kept, or arrays of the reverse sweep are copies; None where neither is so. For sums that
    may run in any order. `in_rows`: None where anything is kept for more than a row.
    """
    from loopdiff.transform.copies import without_whole_copies
    from loopdiff.transform.last_taken import keep_last
    from loopdiff.transform.one_pass import carriers, in_one_pass
    from loopdiff.transform.zeros import drop_zeros

    if sweeps.count_names:
        return None
    recorded = frozenset(a.name for a in sweeps.forward.arrays if a.role in ("tape", "local"))
    forward, reverse = stages.run("last", keep_last, sweeps.forward, sweeps.reverse)
    both = derive_gradient(normal, forward, reverse, (), wrt, True, stages)
    fewer = stages.run("copies", without_whole_copies, both)
    found = stages.run("one pass", in_one_pass, fewer, recorded) or (None if fewer is both else fewer)
    if found is None or (in_rows and keeps_any_whole(found, sweeps.forward)):
        return None
    unseen = carriers(found)
    found = stages.run("zeros of one pass", drop_zeros, found, unseen, unseen)
    return replace(found, name=f"{normal.name}_value_and_gradient")


def keeps_any_whole(ls: LoopSet, forward: LoopSet) -> bool:
    """Whether one of the tapes of `forward` has as many axes in `ls`."""
    axes = {a.name: len(a.extents or ()) for a in ls.arrays}
    return any(0 < len(a.extents or ()) == axes.get(a.name) for a in forward.arrays if a.role == "tape")


def derive_pullback(
    normal: LoopSet,
    forward: LoopSet,
    reverse: LoopSet,
    count_names: tuple[str, ...],
    wrt: tuple[str, ...],
    stages: Stages,
) -> LoopSet:
    """The gradients of a function for any seeds and cotangents as a program of its own."""
    from loopdiff.ad.gradient import build_pullback

    return stages.run("pullback", build_pullback, normal, forward, reverse, count_names, wrt)


def style_of(ls: LoopSet, options: Options, reader: LoopSet | None) -> Style:
    """How the function of `ls` is written; `reader` goes on with the arrays that it leaves."""
    from loopdiff.backends.cpu.compile import Style
    from loopdiff.transform.blocked import own_arrays

    return Style(options.fastmath, options.accuracy, own_arrays(ls, reader) if options.parallel else None)


def arrange(
    ls: LoopSet, options: Options, requests: Requests, stages: Stages, reader: LoopSet | None = None
) -> Arranged:  # fmt: skip
    """A normal LoopSet with its loops arranged for the machine, and their schedule.

    `reader` goes on with the arrays that `ls` leaves: the reverse sweep of a forward sweep. Raises ScheduleError for
    `requests` that cannot be granted (LD5xx).
    """
    from loopdiff.deferred import deferred_interrupts

    with deferred_interrupts():
        from loopdiff.backends.cpu.compile import fuse_loops, prepare_loops, schedule_loops
    from loopdiff.transform.parallel import shares_all_of, with_rows_apart
    from loopdiff.transform.rolling import roll_rows

    may_fuse, fastmath = all(r.is_exact for r in requests.items), options.fastmath
    ready = stages.run(f"loops {ls.name}", partial(prepare_loops, fastmath=fastmath), ls)
    ordered = partial(fuse_loops, fastmath=fastmath, may_start=may_fuse)
    fused = stages.run(f"fused {ls.name}", partial(ordered, may_fuse=may_fuse), ready)
    loops = stages.run(f"rolling {ls.name}", partial(roll_rows, reader=reader), fused) if may_fuse else fused
    style, alone = (style_of(ls, replace(options, parallel=p), reader) for p in (options.parallel, False))
    schedule = partial(schedule_loops, requests=requests)
    if not options.parallel:
        return stages.run(f"schedule {ls.name}", partial(schedule, style=style), loops)
    threads = stages.run(f"schedule {ls.name} on threads", partial(schedule, style=style), fused)
    sharing = with_rows_apart(threads, loops, style.dead or frozenset()) if shares_all_of(threads, ready) else None
    if sharing is not None:
        if fused == loops:
            return threads
        found = stages.run(f"schedule {ls.name}", partial(schedule, style=alone), loops)
        return replace(found, schedule=replace(found.schedule, sharing=tuple(sharing)))
    for is_fused in (True, False) if may_fuse else (False,):
        arranged = stages.run(f"rows {ls.name}", partial(ordered, may_fuse=is_fused, is_deep=False), ready)
        threads = stages.run(f"schedule {ls.name} on threads", partial(schedule, style=style), arranged)
        if shares_all_of(threads, ready):
            break
    plain = stages.run(f"schedule {ls.name}", partial(schedule, style=alone), loops)
    return replace(plain, threads=threads) if threads.schedule.shared else plain


def runs_on_threads(ls: LoopSet, options: Options, stages: Stages) -> bool:
    """Whether no nest of the function `ls` would run on one thread for want of a loop that several can share."""
    from loopdiff.transform.parallel import shares_everything

    return shares_everything(arrange(ls, options, Requests(), stages))


def compile_function(
    ls: LoopSet, options: Options, requests: Requests, stages: Stages, reader: LoopSet | None = None
) -> CompiledFunction:  # fmt: skip
    """The Numba function of a normal LoopSet; Numba compiles it at its first call, or loads it from disk."""
    if not options.is_for_cpu:
        return compile_for_cuda(ls, options, requests, stages, reader)
    from loopdiff.deferred import deferred_interrupts

    with deferred_interrupts():
        from loopdiff.backends.cpu.compile import write_function

    arranged = arrange(ls, options, requests, stages, reader)
    write = partial(write_function, style=style_of(ls, options, reader), cache=options.cache)
    generated = stages.run(f"emit {ls.name}", write, arranged)
    stages.show(f"{ls.name}.py", lambda: generated.source, 3)
    return generated


def compile_for_cuda(
    ls: LoopSet, options: Options, requests: Requests, stages: Stages, reader: LoopSet | None = None
) -> CompiledFunction:  # fmt: skip
    """The Numba function that launches the kernels of a normal LoopSet, or runs them on the CPU."""
    from loopdiff.deferred import deferred_interrupts

    with deferred_interrupts():
        from loopdiff.backends.cuda.compile import write_device, write_emulated

    plan, style = plan_for_cuda(ls, options, requests, stages, reader), style_of(ls, options, reader)
    write = partial(write_device, plan) if options.target == "cuda" else partial(write_emulated, plan, style)
    generated = stages.run(f"emit {ls.name}", partial(write, cache=options.cache))
    stages.show(f"{ls.name}.py", lambda: generated.source, 3)
    return generated


def plan_for_cuda(
    ls: LoopSet, options: Options, requests: Requests, stages: Stages, reader: LoopSet | None = None
) -> LaunchPlan:  # fmt: skip
    """What the host does and which kernels it launches. Raises ScheduleError for `requests` that cannot be granted."""
    from loopdiff.backends.cuda.compile import plan_of
    from loopdiff.transform.blocked import own_arrays

    style = replace(style_of(ls, options, reader), dead=own_arrays(ls, reader))
    return stages.run(f"launches {ls.name}", partial(plan_of, style=style, requests=requests), ls)


def other_schedules(
    arranged: Arranged, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any], sweep: str, fastmath: bool
) -> tuple[tuple[Request, ...], tuple[Request, ...]]:  # fmt: skip
    """Requests that lead to schedules worth a measurement: vectors to try one by one, and blocks to do without."""
    from loopdiff.analysis.polyhedra import build_model
    from loopdiff.backends.cpu.host import host_machine
    from loopdiff.transform.candidates import other_vectors, without_blocks
    from loopdiff.transform.extents import Extents

    extents, model = Extents(shapes, values), build_model(arranged.ls)
    vectors = other_vectors(model, arranged, extents, host_machine(), sweep, fastmath, MOST_MEASURED)
    return tuple(vectors), tuple(without_blocks(arranged, sweep))


def explain_for_cuda(
    ls: LoopSet,
    options: Options,
    requests: Requests,
    stages: Stages,
    reader: LoopSet | None,
    shapes: Mapping[str, tuple[int, ...]] | None,
    values: Mapping[str, Any],
) -> tuple[str, float | None]:
    """The launch plan of a function in words and, where `shapes` of the arrays are known, the nanoseconds that its
    kernels take on an H200 at least. `values` are the arguments."""
    from loopdiff.transform.extents import Extents
    from loopdiff.transform.launch_costs import costs_of
    from loopdiff.transform.launch_text import explain_launches

    plan = plan_for_cuda(ls, options, requests, stages, reader)
    if shapes is None:
        return explain_launches(plan), None
    costs = costs_of(plan, Extents(shapes, values))
    return explain_launches(plan, costs), sum(c.nanoseconds for c in costs)


def explain_loops(
    arranged: Arranged, shapes: Mapping[str, tuple[int, ...]] | None, values: Mapping[str, Any]
) -> tuple[str, float | None]:  # fmt: skip
    """The schedule in words and, where `shapes` of the arrays are known, the nanoseconds that the cost model predicts.

    `values` are the arguments.
    """
    from loopdiff.backends.cpu.host import host_machine
    from loopdiff.transform.extents import Extents
    from loopdiff.transform.prediction import predict
    from loopdiff.transform.schedule_text import explain_schedule

    machine = host_machine()
    found = None if shapes is None else predict(arranged.ls, arranged.schedule, Extents(shapes, values), machine)
    text = explain_schedule(arranged.schedule, arranged.ls, machine, found)
    if arranged.threads is not None:
        shared = explain_schedule(arranged.threads.schedule, arranged.threads.ls, machine)
        text += "\non several threads, where that saves enough:\n" + shared
    return text, None if found is None else found.total


def reload_function(name: str, source: str) -> CompiledFunction | None:
    """A function generated before; None if kernels that it launches are gone."""
    try:
        return load_function(name, write_module(name, source), source)
    except LookupError:
        return None


def derive_checks(reverse: LoopSet, like: Mapping[str, str], counted: tuple[str, ...], stages: Stages) -> LoopSet:
    """What sees to it that a reverse sweep stays inside its arrays, those of `like` with the extents of another one."""
    from loopdiff.transform.only_checks import only_checks

    return stages.run("checks alone", only_checks, reverse, like, counted)


def instantiate(ls: LoopSet, function: CompiledFunction, options: Options, stages: Stages) -> Callable[..., Any]:
    """Compile the dispatcher for the types that `ls` declares, or load that from Numba's disk cache; its entry point
    for these types from Python. That of a function for GPUs brings arrays there and back.

    Raises BackendError (LD601) with what Numba says, should it refuse the generated source.
    """
    from loopdiff.deferred import deferred_interrupts

    signature = tuple(numba_type(ls, name) for name in ls.params)
    dispatcher: Any = function.dispatcher
    try:
        with deferred_interrupts(), global_compiler_lock:  # other threads may ask for the same text
            dispatcher.disable_compile(False)
            entry = stages.run(f"numba {ls.name}", dispatcher.compile, signature)
            dispatcher.disable_compile()  # the text is for these types and layouts: with gaps it would read on in them
    except NumbaError as error:
        message = f"Numba cannot compile {function.path}, generated from `{ls.name}`: {error}"
        raise BackendError(reject("LD601", message, ls.loc)) from error
    if options.target != "cuda":
        return entry
    from loopdiff.backends.cuda.transfers import with_transfers

    return with_transfers(ls, entry, is_on_host=options.arrays == "host")


def numba_type(ls: LoopSet, name: str) -> numba.types.Type:
    if not ls.has_array(name):
        return getattr(numba.types, SCALARS[ls.scalar(name).type])
    declared = ls.array(name).type
    assert declared is not None
    element = numba.from_dtype(np.dtype(declared.dtype))
    return numba.types.Array(element, declared.rank, declared.layout)
