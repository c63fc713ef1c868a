"""Runs passes: each is verified, timed, dumped where it changed anything, and may be left out from outside.

`LOOPDIFF_SKIP=fuse,gather` leaves passes out; `LOOPDIFF_BISECT=n` lets only the first n changes of a process happen,
which `python -m loopdiff bisect` uses to find the one that breaks a program.
"""

from __future__ import annotations

from itertools import count
from typing import Any, TypeVar

from loopdiff.analysis.polyhedral.model import Model, models_kept
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.ir import nodes as ir
from loopdiff.mapping.launches import LaunchPlan
from loopdiff.pipeline import passes
from loopdiff.pipeline.both import BothSweeps
from loopdiff.pipeline.passes import Context, Pass, Passes
from loopdiff.pipeline.stages import Stages
from loopdiff.settings.options import most_changes, skipped_passes

T = TypeVar("T")
CHANGES = count(1)  # what passes changed in this process, whatever for
PIPELINES: dict[str, Passes] = {n: p for n, p in vars(passes).items() if n.isupper() and isinstance(p, tuple)}


def run_passes(pipeline: Passes, loops: T, context: Context, stages: Stages) -> T:
    """`loops` after those passes of `pipeline` that run in this context."""
    with models_kept():
        for found in pipeline:
            if found.runs(context) and (found.needed or found.name not in skipped()):
                loops = run_pass(found, loops, context, stages)
    return loops


def run_pass(found: Pass, loops: T, context: Context, stages: Stages) -> T:
    (function, *_) = (ls.name for ls in loopsets_of(loops))
    after: T = stages.timed(f"{found.name} {function}", found.run, loops, **found.asks(context))
    if after is loops or after == loops:
        return loops
    if not found.needed and (limit := most_changes()) is not None:
        number = next(CHANGES)
        stages.note(f"change {number}: {found.name} {function}")
        if number > limit:
            return loops
    stages.changed(function, found.name)
    for ls in loopsets_of(after) if not isinstance(after, LaunchPlan) else ():
        stages.check(f"{found.name} {ls.name}", ls)
    return after


def loopsets_of(loops: Any) -> tuple[ir.LoopSet, ...]:
    """The functions that a pass gives anew."""
    match loops:
        case ir.LoopSet():
            return (loops,)
        case BothSweeps(forward=forward, reverse=reverse):
            return forward, reverse
        case Model(ls=ls) | LaunchPlan(ls=ls):
            return (ls,)
        case _:
            raise TypeError(f"passes do not work on {type(loops).__name__}")


def skipped() -> frozenset[str]:
    """Passes to leave out. Raises ArgumentError (LD309) for one that there is not, or that is needed."""
    asked = skipped_passes()
    known = {p.name for pipeline in PIPELINES.values() for p in pipeline if not p.needed}
    if not asked <= known:
        wrong = ", ".join(sorted(asked - known))
        message = f"`LOOPDIFF_SKIP` names {wrong}, which cannot be left out"
        raise ArgumentError(reject("LD309", message, NOWHERE, "`python -m loopdiff passes` lists the passes"))
    return asked
