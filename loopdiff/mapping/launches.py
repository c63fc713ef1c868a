"""Launch plans: what the host does, and which kernels it launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.mapping.grids import Grid

Names = frozenset[str]


@immutable
class WarpLoop:
    """A loop whose iterations the lanes of a warp go through side by side; `sums`: cells into which they sum."""

    loop: ir.Loop
    sums: tuple[tuple[str, ir.AccumulateOp], ...]


@immutable
class Launch:
    """A kernel. Without a grid one thread runs the statements of `body`; `cells` and `lets` are its own. An iteration
    is that of a thread, or, where there are `warp_loops`, that of a warp, which takes a `tile` of so many along each
    axis together where there are many. `is_guarded`: it does nothing if another one found something wrong before."""

    body: tuple[ir.Stmt, ...]
    cells: tuple[str, ...]
    grid: Grid | None = None
    reason: str = ""
    lets: Names = frozenset()
    warp_loops: tuple[WarpLoop, ...] = ()
    tile: tuple[int, ...] = ()
    is_guarded: bool = False


@immutable
class HostLoop:
    """A loop of the host around `steps`; `reason` says why it is no kernel."""

    loop: ir.Loop
    steps: tuple[Step, ...]
    reason: str


@immutable
class HostIf:
    """A branch of the host; `reason` says when it takes the first, if the program does not."""

    stmt: ir.If
    then: tuple[Step, ...]
    orelse: tuple[Step, ...]
    reason: str = ""


@immutable
class OnHost:
    """A statement that the host runs."""

    stmt: ir.Stmt


Step = Launch | HostLoop | HostIf | OnHost


@immutable
class LaunchPlan:
    """`steps` that do what the body of `ls` says. The scalars `on_device` live in its memory."""

    ls: ir.LoopSet
    steps: tuple[Step, ...]
    on_device: Names


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        match step:
            case HostLoop(steps=inner):
                yield from all_steps(inner)
            case HostIf(then=then, orelse=orelse):
                yield from all_steps((*then, *orelse))
            case _:
                pass


def map_launches(change: Callable[[Launch], tuple[Step, ...]], steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with others in the place of each launch."""

    def changed(step: Step) -> tuple[Step, ...]:
        match step:
            case Launch():
                return change(step)
            case HostLoop(steps=inner):
                return (replace(step, steps=map_launches(change, inner)),)
            case HostIf(then=then, orelse=orelse):
                return (replace(step, then=map_launches(change, then), orelse=map_launches(change, orelse)),)
            case OnHost():
                return (step,)

    return tuple(new for step in steps for new in changed(step))
