"""Functions for GPUs: from a normal LoopSet to the plan of what the host does and which kernels it launches."""

from __future__ import annotations

from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.compile import RESERVED
from loopdiff.errors import BackendError
from loopdiff.errors.codes import reject
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import all_statements
from loopdiff.mapping.launches import LaunchPlan
from loopdiff.pipeline.passes import CUDA_BLOCKS, CUDA_LAUNCHES, CUDA_LOOPS, CUDA_MODEL, Context
from loopdiff.pipeline.runner import run_passes
from loopdiff.pipeline.stages import Stages
from loopdiff.rules.printing import is_printing
from loopdiff.schedule.gpu.launch_planner import plan_launches
from loopdiff.schedule.gpu.refusals import refuse_ungranted
from loopdiff.settings.requests import NOTHING, Requests


def launch_plan_of(
    ls: ir.LoopSet, style: Style, requests: Requests = NOTHING, stages: Stages | None = None
) -> LaunchPlan:
    """The launch plan of a normal LoopSet. Raises ScheduleError for `requests` that cannot be granted (LD5xx), and
    BackendError (LD603) for what has no kernel."""
    stages = stages or Stages(ls.name)
    refuse_halves(ls)
    context = Context(fastmath=style.fastmath, requests=requests, dead=style.dead or frozenset(), reserved=RESERVED)
    blocked = run_passes(CUDA_BLOCKS, ls, context, stages)
    refuse_calls(blocked)
    context = replace(context, dead=context.dead | {a.name for a in blocked.arrays} - {a.name for a in ls.arrays})
    loops = run_passes(CUDA_LOOPS, blocked, context, stages)
    model = run_passes(CUDA_MODEL, build_model(loops), context, stages)
    plan = plan_launches(model, context.dead, requests, may_reassociate=context.fastmath)
    found = run_passes(CUDA_LAUNCHES, plan, context, stages)
    refuse_ungranted(model, found, context.dead, requests)
    return found


def refuse_halves(ls: ir.LoopSet) -> None:
    for decl in ls.arrays:
        if decl.type is not None and decl.type.is_half:
            message = f"`{decl.name}` holds {decl.type.dtype}, which has no kernel yet"
            hint = "use float32 there, or keep `target='cpu'`"
            raise BackendError(reject("LD603", message, decl.loc, hint))


def refuse_calls(ls: ir.LoopSet) -> None:
    for stmt in all_statements(ls.body):
        if isinstance(stmt, ir.Call):
            name = stmt.rule.name
            message = f"`{name}` runs on the CPU only"
            if not is_printing(stmt.rule):
                message = f"`{name}` has a rule, and runs on the CPU only"
            raise BackendError(reject("LD603", message, stmt.loc))
