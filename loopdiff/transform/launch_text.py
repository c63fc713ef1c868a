"""A launch plan in words: what each loop became and why, and what its kernels move and compute."""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.ir.nodes import Allocate, Const, Loop, Stmt
from loopdiff.ir.walk import statements
from loopdiff.transform.grid import Grid
from loopdiff.transform.launch_plan import HostIf, HostLoop, Launch, LaunchPlan, OnHost, Step


def explain_launches(plan: LaunchPlan) -> str:
    """One line for each loop of the host and each kernel, and where scalars live."""
    lines = list(lines_of(plan.steps, ""))
    if plan.on_device:
        held = ", ".join(f"`{n}`" for n in sorted(plan.on_device))
        lines.append(f"scalars in the memory of the device: {held}")
    return "\n".join(lines)


def lines_of(steps: tuple[Step, ...], indent: str) -> Iterator[str]:
    for step in steps:
        match step:
            case HostLoop(loop=loop, steps=inner, reason=reason):
                yield f"{indent}for {loop.index}{place(loop)}: on the host: {reason}"
                yield from lines_of(inner, indent + "  ")
            case HostIf(stmt=stmt, then=then, orelse=orelse):
                yield f"{indent}if{place(stmt)}: on the host"
                yield from lines_of(then, indent + "  ")
                if orelse:
                    yield f"{indent}else:"
                    yield from lines_of(orelse, indent + "  ")
            case Launch(grid=None):
                yield from one_thread(step, indent)
            case Launch(grid=Grid() as grid):
                yield f"{indent}{grid_words(grid)}"
            case OnHost(stmt=Allocate(array=array, fill=Const(value=value))):
                yield f"{indent}`{array}` is filled with {value}"
            case OnHost():
                pass


def one_thread(launch: Launch, indent: str) -> Iterator[str]:
    """A kernel of one thread: its loops, and why they are no more."""
    loops = [s for s in launch.body if isinstance(s, Loop)]
    for loop in loops:
        yield f"{indent}for {loop.index}{place(loop)}: on one thread: {launch.reason}"
    lines = sorted({s.stmt.loc.line for s in statements(launch.body) if s.stmt.loc.line})
    if not loops and lines:
        yield f"{indent}{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}: on one thread"


def grid_words(grid: Grid) -> str:
    indices = ", ".join(a.loop.index for a in grid.axes)
    parts = [f"for {indices}{place(grid.axes[0].loop)}: a thread each"]
    inside = [s.stmt for s in statements(grid.body) if isinstance(s.stmt, Loop)]
    if inside:
        parts.append(f"{', '.join(f'`{s.index}`' for s in inside)} inside each")
    if grid.sums:
        parts.append(f"{', '.join(f'`{n}`' for n, _ in grid.sums)} summed over blocks in a fixed order")
    if grid.copies:
        parts.append(f"{', '.join(f'`{n}`' for n in grid.copies)} summed in a copy for each of a few hundred threads")
    if grid.arrays:
        parts.append(f"{', '.join(f'`{n}`' for n in grid.arrays)} apart for each thread")
    return "; ".join(parts)


def place(stmt: Stmt) -> str:
    return f" ({stmt.loc.in_words})" if stmt.loc.line else ""
