"""Functions for processors: which arrangements of their loops are tried, and which one is taken."""

from __future__ import annotations

from loopdiff.analysis.polyhedral.model import build_model, models_kept
from loopdiff.backends.cpu.compile import PLAIN, Style, write_function
from loopdiff.backends.cpu.host import host_machine
from loopdiff.backends.load import CompiledFunction
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.mapping.loops import Arranged
from loopdiff.pipeline.passes import CPU_ELEMENTS, CPU_FUSION, CPU_LOOPS, CPU_STORAGE, Context, Fusion
from loopdiff.pipeline.runner import run_passes
from loopdiff.pipeline.stages import Stages
from loopdiff.schedule.cpu.planner import plan
from loopdiff.schedule.cpu.threads import share_loops, shares_all_of, with_rows_apart
from loopdiff.settings.requests import NOTHING, Requests


@immutable
class Arranger:
    """Arranges the loops of a function in one way or another, and schedules them.

    `style` is that of the function on several threads, if it may be on these; `requests` are for its loops.
    """

    context: Context
    style: Style
    requests: Requests
    stages: Stages

    def fused(self, ready: ir.LoopSet, fusion: Fusion) -> ir.LoopSet:
        """`ready` with nests fused; what these hand on is in registers, for one thread and for several."""
        passes = CPU_FUSION if fusion == "none" else (*CPU_FUSION, *CPU_ELEMENTS)
        return run_passes(passes, ready, replace(self.context, fusion=fusion), self.stages)

    def scheduled(self, ls: ir.LoopSet, *, on_threads: bool) -> Arranged:
        style = self.style if on_threads else replace(self.style, dead=None)
        stage = f"schedule {ls.name}" + (" on threads" if on_threads else "")
        return self.stages.run(stage, lambda: schedule_loops(ls, style, self.requests))


@models_kept()
def arrange(
    ls: ir.LoopSet, style: Style, requests: Requests, stages: Stages, reader: ir.LoopSet | None = None
) -> Arranged:  # fmt: skip
    """A normal LoopSet with its loops arranged for the machine, and their schedule.

    `reader` goes on with the arrays that `ls` leaves: the reverse sweep of a forward sweep. Nests for whose loops there
    are exact requests stay as they are. Raises ScheduleError for `requests` that cannot be granted (LD5xx).
    """
    may_fuse = all(r.is_exact for r in requests.items)
    is_alone = may_fuse and style.dead is None
    context = Context(
        fastmath=style.fastmath, machine=host_machine(), reader=reader, may_start=may_fuse, is_alone=is_alone
    )
    arranger = Arranger(context, style, requests, stages)
    ready = run_passes(CPU_LOOPS, ls, context, stages)
    fused = arranger.fused(ready, "deep" if may_fuse else "none")
    loops = run_passes(CPU_STORAGE, fused, context, stages) if may_fuse else fused
    if style.dead is None:
        return arranger.scheduled(loops, on_threads=False)
    threads = arranger.scheduled(fused, on_threads=True)
    if shares_all_of(threads, ready) and (sharing := with_rows_apart(threads, loops, style.dead)) is not None:
        if fused == loops:
            return threads
        found = arranger.scheduled(loops, on_threads=False)
        return replace(found, schedule=replace(found.schedule, sharing=tuple(sharing)))
    apart: tuple[Fusion, ...] = ("rows", "none") if may_fuse else ("none",)
    for fusion in apart:
        threads = arranger.scheduled(arranger.fused(ready, fusion), on_threads=True)
        if shares_all_of(threads, ready):
            break
    plain = arranger.scheduled(loops, on_threads=False)
    return replace(plain, threads=threads) if threads.schedule.shared else plain


def arrange_loops(ls: ir.LoopSet, *, fastmath: bool, fusion: Fusion = "deep") -> ir.LoopSet:
    """`ls` with its loops arranged for one thread of the host, with all rows of its arrays."""
    context = Context(fastmath=fastmath, machine=host_machine(), fusion=fusion, may_start=fusion != "none")
    return run_passes((*CPU_LOOPS, *CPU_FUSION), ls, context, Stages(ls.name))


def schedule_loops(ls: ir.LoopSet, style: Style, requests: Requests = NOTHING) -> Arranged:
    """`ls`, whose loops are arranged, with a schedule for the host. Raises ScheduleError (LD5xx) for `requests`."""
    model = build_model(ls)
    schedule = plan(model, may_reassociate=style.fastmath, machine=host_machine(), requests=requests)
    if style.dead is not None:
        schedule = replace(schedule, sharing=share_loops(model, schedule, style.dead, style.fastmath))
    return Arranged(ls, schedule)


def compile_loopset(ls: ir.LoopSet, style: Style = PLAIN, *, cache: bool = True) -> CompiledFunction:
    """Generate, write and import the function of `ls`; Numba compiles it at its first call, or loads it from disk."""
    return write_function(schedule_loops(arrange_loops(ls, fastmath=style.fastmath), style), style, cache=cache)
