"""From a LoopSet to compiled code: which back end, and what Numba makes of the generated text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numba
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError

from loopdiff.backends.load import CompiledFunction, load_function, write_module
from loopdiff.errors import BackendError
from loopdiff.errors.codes import reject
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import BOOL, F32, F64, INT
from loopdiff.pipeline.stages import Stages
from loopdiff.settings.options import Options
from loopdiff.settings.requests import Request, Requests

if TYPE_CHECKING:
    from loopdiff.backends.cpu.compile import Style
    from loopdiff.mapping.launches import LaunchPlan
    from loopdiff.mapping.loops import Arranged
    from loopdiff.model.prediction import Prediction

RECURSION = 20_000  # calls inside each other
MOST_MEASURED = 2  # schedules of a sweep, besides the one that the cost model prefers and one without blocks
SCALARS = {BOOL: "boolean", INT: "int64", F32: "float32", F64: "float64", None: "float64"}


def style_of(ls: ir.LoopSet, options: Options, reader: ir.LoopSet | None) -> Style:
    """How the function of `ls` is written; `reader` goes on with the arrays that it leaves."""
    from loopdiff.backends.cpu.compile import Style
    from loopdiff.passes.storage.workspace import own_arrays

    return Style(options.fastmath, options.accuracy, own_arrays(ls, reader) if options.parallel else None)


def arrange_for_target(
    ls: ir.LoopSet, options: Options, requests: Requests, stages: Stages, reader: ir.LoopSet | None = None
) -> Arranged:  # fmt: skip
    """A normal LoopSet with its loops arranged for the machine, and their schedule.

    `reader` goes on with the arrays that `ls` leaves: the reverse sweep of a forward sweep. Raises ScheduleError for
    `requests` that cannot be granted (LD5xx).
    """
    from loopdiff.settings.deferred import deferred_interrupts

    with deferred_interrupts():
        from loopdiff.pipeline import cpu

    return cpu.arrange(ls, style_of(ls, options, reader), requests, stages, reader)


def runs_on_threads(ls: ir.LoopSet, options: Options, stages: Stages) -> bool:
    """Whether no nest of the function `ls` would run on one thread for want of a loop that several can share."""
    from loopdiff.schedule.cpu.threads import shares_everything

    return shares_everything(arrange_for_target(ls, options, Requests(), stages))


def compile_function(
    ls: ir.LoopSet, options: Options, requests: Requests, stages: Stages, reader: ir.LoopSet | None = None
) -> CompiledFunction:  # fmt: skip
    """The Numba function of a normal LoopSet; Numba compiles it at its first call, or loads it from disk."""
    if not options.is_for_cpu:
        return compile_for_cuda(ls, options, requests, stages, reader)
    from loopdiff.settings.deferred import deferred_interrupts

    with deferred_interrupts():
        from loopdiff.backends.cpu.compile import write_function

    arranged = arrange_for_target(ls, options, requests, stages, reader)
    write = partial(write_function, style=style_of(ls, options, reader), cache=options.cache)
    generated = stages.run(f"emit {ls.name}", write, arranged)
    stages.show(f"{ls.name}.py", lambda: generated.source, 3)
    return generated


def compile_for_cuda(
    ls: ir.LoopSet, options: Options, requests: Requests, stages: Stages, reader: ir.LoopSet | None = None
) -> CompiledFunction:  # fmt: skip
    """The Numba function that launches the kernels of a normal LoopSet, or runs them on the CPU."""
    from loopdiff.settings.deferred import deferred_interrupts

    with deferred_interrupts():
        from loopdiff.backends.cuda.compile import write_device, write_emulated

    plan, style = plan_for_cuda(ls, options, requests, stages, reader), style_of(ls, options, reader)
    write = partial(write_device, plan) if options.target == "cuda" else partial(write_emulated, plan, style)
    generated = stages.run(f"emit {ls.name}", partial(write, cache=options.cache))
    stages.show(f"{ls.name}.py", lambda: generated.source, 3)
    return generated


def plan_for_cuda(
    ls: ir.LoopSet, options: Options, requests: Requests, stages: Stages, reader: ir.LoopSet | None = None
) -> LaunchPlan:  # fmt: skip
    """What the host does and which kernels it launches. Raises ScheduleError for `requests` that cannot be granted."""
    from loopdiff.passes.storage.workspace import own_arrays
    from loopdiff.pipeline.cuda import launch_plan_of

    style = replace(style_of(ls, options, reader), dead=own_arrays(ls, reader))
    return stages.timed(f"launches {ls.name}", launch_plan_of, ls, style, requests, stages)


def other_schedules(
    arranged: Arranged, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any], sweep: str, fastmath: bool
) -> tuple[tuple[Request, ...], tuple[Request, ...]]:  # fmt: skip
    """Requests that lead to schedules worth a measurement: vectors to try one by one, and blocks to do without."""
    from loopdiff.analysis.polyhedral.model import build_model
    from loopdiff.backends.cpu.host import host_machine
    from loopdiff.model.trip_counts import Extents
    from loopdiff.schedule.cpu.candidates import other_vectors, without_blocks

    extents, model = Extents(shapes, values), build_model(arranged.ls)
    vectors = other_vectors(model, arranged, extents, host_machine(), sweep, fastmath, MOST_MEASURED)
    return tuple(vectors), tuple(without_blocks(arranged, sweep))


def explain_for_cuda(
    ls: ir.LoopSet,
    options: Options,
    requests: Requests,
    stages: Stages,
    reader: ir.LoopSet | None,
    shapes: Mapping[str, tuple[int, ...]] | None,
    values: Mapping[str, Any],
) -> tuple[str, float | None]:
    """The launch plan of a function in words and, where `shapes` of the arrays are known, the nanoseconds that its
    kernels take on an H200 at least. `values` are the arguments."""
    from loopdiff.model.gpu_cost import costs_of
    from loopdiff.model.trip_counts import Extents
    from loopdiff.report.launches import explain_launches

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
    from loopdiff.report.schedules import explain_schedule

    machine = host_machine()
    found = None if shapes is None else predict_loops(arranged, shapes, values)
    text = explain_schedule(arranged.schedule, arranged.ls, machine, found)
    if arranged.threads is not None:
        shared = explain_schedule(arranged.threads.schedule, arranged.threads.ls, machine)
        text += "\non several threads, where that saves enough:\n" + shared
    return text, None if found is None else found.total


def predict_loops(
    arranged: Arranged, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any]
) -> Prediction:  # fmt: skip
    """The nanoseconds that the cost model predicts for arrays of these `shapes`. `values` are the arguments."""
    from loopdiff.backends.cpu.host import host_machine
    from loopdiff.model.prediction import predict
    from loopdiff.model.trip_counts import Extents

    return predict(arranged.ls, arranged.schedule, Extents(shapes, values), host_machine())


def reload_function(name: str, source: str) -> CompiledFunction | None:
    """A function generated before; None if kernels that it launches are gone."""
    try:
        return load_function(name, write_module(name, source), source)
    except LookupError:
        return None


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Inside, functions may call themselves so often as Numba's do that follow the flow of a long function."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def instantiate(ls: ir.LoopSet, function: CompiledFunction, options: Options, stages: Stages) -> Callable[..., Any]:
    """Compile the dispatcher for the types that `ls` declares, or load that from Numba's disk cache; its entry point
    for these types from Python. That of a function for GPUs brings arrays there and back.

    Raises BackendError (LD601) with what Numba says, should it refuse the generated source.
    """
    from loopdiff.settings.deferred import deferred_interrupts

    signature = tuple(numba_type(ls, name) for name in ls.params)
    dispatcher: Any = function.dispatcher
    try:
        with deferred_interrupts(), global_compiler_lock, deep_recursion():  # others may ask for the same text
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


def numba_type(ls: ir.LoopSet, name: str) -> numba.types.Type:
    if not ls.has_array(name):
        return getattr(numba.types, SCALARS[ls.scalar(name).type])
    declared = ls.array(name).type
    assert declared is not None
    from loopdiff.backends.cpu.simd.halves import element_type

    return numba.types.Array(element_type(declared.dtype), declared.rank, declared.layout)
