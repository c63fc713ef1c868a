"""A launch plan in words: what each loop became and why, and what its kernels move and compute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, all_statements
from loopdiff.mapping.grids import MOST_COPIES, Grid
from loopdiff.mapping.launches import HostIf, HostLoop, Launch, LaunchPlan, OnHost, Step
from loopdiff.mapping.update_lists import most_updates
from loopdiff.model.gpu_cost import Cost
from loopdiff.source.words import in_units


def explain_launches(plan: LaunchPlan, costs: Sequence[Cost] = ()) -> str:
    """One line for each loop of the host and each kernel, with what it costs where that is known, and where scalars
    live."""
    lines = list(lines_of(plan.steps, "", {c.place: f"; {cost_words(c)}" for c in costs}))
    if plan.on_device:
        held = ", ".join(f"`{n}`" for n in sorted(plan.on_device))
        lines.append(f"scalars in the memory of the device: {held}")
    return "\n".join(lines)


def cost_words(cost: Cost) -> str:
    """What a kernel moves in one launch, and how long all its launches take at least."""
    each = cost.bytes / max(1.0, cost.launches)
    times = "" if cost.launches == 1 else f"{cost.launches:.0f} times "
    return f"{times}{in_bytes(each)}, at least {in_units(cost.nanoseconds)}"


def in_bytes(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.{1 if count < 10 * size else 0}f} {unit}"
    return f"{count:.0f} bytes"


def lines_of(
    steps: tuple[Step, ...], indent: str, costs: Mapping[Path, str], around: Path = (), first: int = 0
) -> Iterator[str]:
    for number, step in enumerate(steps, first):
        here = (*around, number)
        match step:
            case HostLoop(loop=loop, steps=inner, reason=reason):
                yield f"{indent}for {loop.index}{place(loop)}: on the host: {reason}"
                yield from lines_of(inner, indent + "  ", costs, here)
            case HostIf(stmt=stmt, then=then, orelse=orelse, reason=reason):
                yield f"{indent}if {reason}:" if reason else f"{indent}if{place(stmt)}: on the host"
                yield from lines_of(then, indent + "  ", costs, here)
                if orelse:
                    yield f"{indent}else:"
                    yield from lines_of(orelse, indent + "  ", costs, here, len(then))
            case Launch(grid=None):
                yield from one_thread(step, indent, costs.get(here, ""))
            case Launch(grid=Grid() as grid):
                yield f"{indent}{grid_words(grid, step)}{costs.get(here, '')}"
            case OnHost(stmt=ir.Allocate(array=array, fill=ir.Const(value=value))):
                yield f"{indent}`{array}` is filled with {value}{costs.get(here, '')}"
            case OnHost():
                pass


def one_thread(launch: Launch, indent: str, cost: str) -> Iterator[str]:
    """A kernel of one thread: its loops, and why they are no more."""
    loops = [s for s in launch.body if isinstance(s, ir.Loop)]
    for loop in loops:
        yield f"{indent}for {loop.index}{place(loop)}: on one thread: {launch.reason}{cost}"
    lines = sorted({s.loc.line for s in all_statements(launch.body) if s.loc.line})
    if not loops and lines:
        yield f"{indent}{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}: on one thread"


def grid_words(grid: Grid, launch: Launch) -> str:
    indices = ", ".join(a.loop.index for a in grid.axes)
    shared = [w.loop.index for w in launch.warp_loops]
    parts = [f"for {indices}{place(grid.axes[0].loop)}: a {'warp' if shared else 'thread'} each"]
    found = [s.index for s in all_statements(launch.body) if isinstance(s, ir.Loop)]
    inside = [i for i in found if i not in shared]
    if shared:
        parts.append(f"its lanes go through {in_quotes(shared)} side by side")
    if inside:
        parts.append(f"{in_quotes(inside)} inside each")
    if launch.tile:
        parts.append(f"{' x '.join(map(str, launch.tile))} of them together where there are many")
    if grid.sums:
        parts.append(f"{', '.join(f'`{n}`' for n, _ in grid.sums)} summed over blocks in a fixed order")
    if grid.copies:
        parts.append(f"{', '.join(f'`{n}`' for n in grid.copies)} summed in copies for up to {MOST_COPIES} threads")
    if grid.lists:
        is_cut = any(most_updates(launch.body, n) is not None for n in grid.lists)
        parts.append(
            f"what goes to {', '.join(f'`{n}`' for n in grid.lists)} listed, sorted by element and added up"
            + (", as much at a time as the cache holds" if is_cut else "")
        )
    if grid.arrays:
        parts.append(f"{', '.join(f'`{n}`' for n in grid.arrays)} apart for each thread")
    return "; ".join(parts)


def in_quotes(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(f"`{n}`" for n in names))


def place(stmt: ir.Stmt) -> str:
    return f" ({stmt.loc.in_words})" if stmt.loc.line else ""
