"""Which arrays and cells a loop iteration owns: written before read in it, and not read after it."""

from __future__ import annotations

from loopdiff.analysis.exposure import exposed_reads, read_after
from loopdiff.analysis.liveness import exposed_cells
from loopdiff.analysis.polyhedra import Model
from loopdiff.ir.nodes import Allocate, If, Loop, LoopSet
from loopdiff.ir.walk import (
    Path,
    Site,
    read_arrays,
    result_arrays,
    statements,
    without_children,
    written_arrays,
)


def owned_arrays(ls: LoopSet, model: Model, path: Path) -> frozenset[str]:
    """Local arrays and cells of `ls` that one iteration of the loop at `path` owns."""
    loop = next(s.stmt for s in statements(ls.body) if s.path == path)
    assert isinstance(loop, Loop)
    owned = owned_cells(ls, path)
    local = {a.name for a in ls.arrays if a.role == "local" and a.type is not None and a.type.rank > 0}
    touched = local & written_arrays(loop.body)
    if touched:
        exposed = {access.array for _, access in exposed_reads(model, path)}
        owned |= {a for a in touched - exposed if not read_after(model, path, a)}
    return frozenset(owned)


def owned_cells(ls: LoopSet, path: Path) -> frozenset[str]:
    """Cells that one iteration of the loop at `path` owns: all accesses are inside, none sees an earlier value."""
    cells = frozenset(a.name for a in ls.arrays if a.name not in ls.params and a.type is not None and a.type.rank == 0)
    sites = list(statements(ls.body))
    inside = [s for s in sites if s.path[: len(path)] == path and len(s.path) > len(path)]
    outside = [s for s in sites if s.path[: len(path)] != path or s.path == path]
    loop = next(s.stmt for s in sites if s.path == path)
    assert isinstance(loop, Loop)
    candidates = cells & touched_by(inside)
    candidates -= touched_by(outside)
    candidates -= result_arrays(ls)
    return candidates - exposed_cells(loop.body, candidates, cells)


def inner_arrays(ls: LoopSet) -> frozenset[str]:
    """Local arrays of `ls` that nothing touches but statements after the one that allocates them, in its block."""
    births: dict[str, list[Site]] = {}
    touches: dict[str, list[Path]] = {}
    for site in statements(ls.body):
        if isinstance(site.stmt, Allocate):
            births.setdefault(site.stmt.array, []).append(site)
        for array in touched_by([site]):
            touches.setdefault(array, []).append(site.path)
    seen = result_arrays(ls)
    return frozenset(
        array
        for array, (birth, *others) in births.items()
        if not others and array not in seen and all(follows(birth, path) for path in touches[array])
    )


def follows(site: Site, path: Path) -> bool:
    """Whether the statement at `path` is that of `site`, or stands after it in the same block."""
    *prefix, place = site.path
    if path == site.path:
        return True
    if len(path) <= len(prefix) or path[: len(prefix)] != tuple(prefix) or path[len(prefix)] < place:
        return False
    around = site.enclosing[-1] if site.enclosing else None
    return not isinstance(around, If) or (path[len(prefix)] < len(around.then)) == (place < len(around.then))


def touched_by(sites: list[Site]) -> frozenset[str]:
    names: frozenset[str] = frozenset()
    for site in sites:
        bare = (without_children(site.stmt),)
        names |= read_arrays(bare) | written_arrays(bare)
    return names
