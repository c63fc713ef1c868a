"""Zero initialisation by update lists: the kernel that adds up a list clears its piece of the array first.

A kernel that lists what it adds to a piece of an array at a time sets that piece to zero while it is in the cache: the
array leaves for memory once, and is not read. It has to go through all of the array, from one end of its first axis to
the other, and nothing may have touched the array since it was to be filled.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import extents_of, integer, is_zero, sub
from loopdiff.ir.walk import read_arrays, touched_arrays
from loopdiff.mapping.launches import HostIf, HostLoop, Launch, LaunchPlan, OnHost, Step, all_steps
from loopdiff.mapping.update_lists import leading_axis, most_updates
from loopdiff.passes.storage.first_writes import Zeros, sink_zeros

ONE, BACK = integer(1), integer(-1)


def start_lists(plan: LaunchPlan) -> LaunchPlan:
    """`plan` with zeros left to the lists that are added to them."""
    steps = sink_zeros(
        plan.steps, zeros_in, lambda step, zeros: zeros.array in arrays_of(step), partial(with_start, plan.ls)
    )
    return replace(plan, steps=steps)


def zeros_in(step: Step) -> Iterator[Zeros[Step]]:
    """The zeros that the host fills an array with."""
    if isinstance(step, OnHost) and isinstance(step.stmt, ir.Allocate) and is_zero(step.stmt.fill):
        yield Zeros(step.stmt.array, (OnHost(replace(step.stmt, fill=None)),))


def arrays_of(step: Step) -> frozenset[str]:
    """The arrays that a step reads, writes or allocates."""
    stmts = tuple(s for part in all_steps((step,)) for s in own_statements(part))
    return touched_arrays(stmts)


def own_statements(step: Step) -> tuple[ir.Stmt, ...]:
    """What a step does beside the steps inside of it, with what it decides by, and how many iterations it has."""
    match step:
        case Launch(body=body):
            return (*body, *axes_alone(step))
        case HostLoop(loop=loop):
            return (replace(loop, body=()),)
        case HostIf(stmt=stmt):
            return (replace(stmt, then=(), orelse=()),)
        case OnHost(stmt=stmt):
            return (stmt,)


def axes_alone(launch: Launch) -> tuple[ir.Stmt, ...]:
    """The loops of the axes of a grid, with nothing inside."""
    axes = () if launch.grid is None else launch.grid.axes
    return tuple(replace(loop, body=()) for axis in axes for loop in (axis.loop, axis.span))


def with_start(ls: ir.LoopSet, step: Step, zeros: Zeros[Step]) -> tuple[Launch] | None:
    """The launch that sets the array of `zeros` to zero piece by piece, if it lists what is added to all of it; None
    otherwise."""
    array = zeros.array
    if not isinstance(step, Launch) or step.grid is None or array not in step.grid.lists:
        return None
    if array in read_arrays(axes_alone(step)):
        return None
    grid, axes = step.grid, [a.loop.index for a in step.grid.axes]
    along = {name: leading_axis(step.body, name, axes) for name in grid.lists}
    number = along[array]
    if number is None or not {*along.values()} <= {number, None} or most_updates(step.body, array) is None:
        return None
    axis, extent = grid.axes[number], extents_of(ls.array(array))[0]
    is_whole = axis.span == axis.loop and goes_through(axis.loop, extent)
    return (replace(step, grid=replace(grid, starts=(*grid.starts, array))),) if is_whole else None


def goes_through(loop: ir.Loop, extent: ir.Expr) -> bool:
    """Whether the loop goes from 0 to `extent`, or back."""
    upwards, downwards = (integer(0), extent, ONE), (sub(extent, ONE), BACK, BACK)
    return (loop.lower, loop.upper, loop.step) in (upwards, downwards)
