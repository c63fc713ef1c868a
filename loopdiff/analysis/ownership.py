"""Ownership: arrays and cells that a loop iteration writes before it reads them, and that nothing reads after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from loopdiff.analysis.cell_flow import exposed_cells
from loopdiff.analysis.exposure import exposed_reads, follows, read_after
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, Site, accesses, result_arrays, statements, written_arrays

Owned = Callable[[Path], frozenset[str]]  # of a loop: what each of its iterations owns


def owned_arrays(ls: ir.LoopSet, model: Model, path: Path) -> frozenset[str]:
    """Local arrays and cells of `ls` that one iteration of the loop at `path` owns."""
    loop = next(s.stmt for s in statements(ls.body) if s.path == path)
    assert isinstance(loop, ir.Loop)
    owned = owned_cells(model, path)
    local = {a.name for a in ls.arrays if a.role == "local" and a.type is not None and a.type.rank > 0}
    touched = local & written_arrays(loop.body)
    if touched:
        exposed = {access.array for _, access in exposed_reads(model, path, touched)}
        owned |= {a for a in touched - exposed if not read_after(model, path, a)}
    return frozenset(owned)


def owned_cells(model: Model, path: Path) -> frozenset[str]:
    """What `cell_owners` says of the loop at `path` of the program of `model`."""
    return model.cached("cell owners", lambda: cell_owners(model.ls))(path)


def cell_owners(ls: ir.LoopSet) -> Owned:
    """For the path of any loop of `ls`, the cells that one iteration owns: all accesses are inside, none sees an
    earlier value."""
    cells = frozenset(a.name for a in ls.arrays if a.name not in ls.params and a.type is not None and a.type.rank == 0)
    sites = {s.path: s for s in statements(ls.body)}
    seen = result_arrays(ls)
    touches = {name: paths for name, paths in touches_of(sites.values()).items() if name in cells - seen}

    @cache
    def owned(path: Path) -> frozenset[str]:
        loop = sites[path].stmt
        assert isinstance(loop, ir.Loop)
        inside = frozenset(name for name, paths in touches.items() if all(is_part_of(p, path) for p in paths))
        return inside - exposed_cells(loop.body, inside, cells)

    return owned


def homes_of_cells(model: Model, path: Path) -> dict[str, Path]:
    """Cells that iterations own of the loop at `path`, or of one inside it, with the innermost such loop; without a
    path, of any loop."""
    loops = (p for p, s in model.sites.items() if isinstance(s.stmt, ir.Loop) and p[: len(path)] == path)
    return {cell: p for p in loops for cell in owned_cells(model, p)}


def is_part_of(inner: Path, path: Path) -> bool:
    """Whether the statement at `inner` is a part of that at `path`."""
    return len(inner) > len(path) and inner[: len(path)] == path


def inner_arrays(ls: ir.LoopSet) -> frozenset[str]:
    """Local arrays of `ls` that nothing touches but statements after the one that allocates them, in its block."""
    births: dict[str, list[Site]] = {}
    for site in statements(ls.body):
        if isinstance(site.stmt, ir.Allocate):
            births.setdefault(site.stmt.array, []).append(site)
    touches, seen = touches_of(statements(ls.body)), result_arrays(ls)
    return frozenset(
        array
        for array, (birth, *others) in births.items()
        if not others and array not in seen and all(follows(birth, path) for path in touches[array])
    )


def touches_of(sites: Iterable[Site]) -> dict[str, list[Path]]:
    """Where arrays and cells are read, written or made, by statements themselves and not by those inside them."""
    touches: dict[str, list[Path]] = {}
    for site in sites:
        for name in touched_by(site.stmt):
            touches.setdefault(name, []).append(site.path)
    return touches


def touched_by(stmt: ir.Stmt) -> frozenset[str]:
    """Arrays and cells that the statement itself reads, writes or makes: not those inside it."""
    names = {access.array for access in accesses(stmt)}
    match stmt:
        case ir.Allocate(array=array):
            names.add(array)
        case ir.Call(results=results):
            names.update(access.array for access in results)
        case _:
            pass
    return frozenset(names)
