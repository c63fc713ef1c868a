"""Array contraction: a local array that a loop uses row by row becomes a rolling buffer of the rows that are live.

    for i in range(N):                               for i in range(N):
        for j: lap[i, j] = f[i + 1, j] - f[i, j]         for j: lap[i % 2, j] = f[i + 1, j] - f[i, j]
        if i >= 1:                            becomes    if i >= 1:
            for j: y[i, j] = lap[i, j] - lap[i - 1, j]       for j: y[i, j] = lap[i % 2, j] - lap[(i - 1) % 2, j]

Fused nests hand rows on to each other; rows that stay in cache until they are written anew never go to memory (array
contraction: Darte and Isoard, "Exact and approximated data-reuse optimizations for tiling with parametric sizes", CC
2015). An iteration touches rows `i + low` to `i + high`, so that all of them have different places modulo their number,
and a row has been touched for the last time when another takes its place. Where one is kept, as of an array of planes
one plane, rows of that are kept likewise.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopdiff.analysis.exposure import depth_of, is_exposed
from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, is_unit_step, parted
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import Path, Site, accesses, map_accesses, read_arrays, statements
from loopdiff.model import tuning
from loopdiff.passes.storage.workspace import private_arrays


def roll_rows(ls: ir.LoopSet, reader: ir.LoopSet | None = None) -> ir.LoopSet:
    """`ls` with places for a few rows only in arrays of its own that one loop uses row by row.

    `reader` goes on with the arrays that `ls` leaves.
    """
    ours = private_arrays(ls, reader)
    own = (a.name for a in ls.arrays if a.name in ours)
    sites = list(statements(ls.body))
    counts: dict[str, tuple[int, ...]] = {n: () for n in own}
    model, axis, found = None, 0, rows_by_array(sites, counts, 0)
    while found:
        model = model or build_model(ls)
        kept = {n: count for n, (count, path) in found.items() if is_own(model, n, path)}
        counts |= {n: (*counts[n], count) for n, count in kept.items()}
        axis += 1
        found = rows_by_array(sites, [n for n, count in kept.items() if count == 1], axis)
    if not any(counts.values()):
        return ls

    def rolled(access: ir.Access) -> ir.Access:
        few = counts.get(access.array, ()) if access.subscripts else ()
        places = (place(s, c) for s, c in zip(access.subscripts, few, strict=False))
        return replace(access, subscripts=(*places, *access.subscripts[len(few) :]))

    return replace(ls, body=tuple(map_accesses(rolled, s) for s in ls.body))


def place(row: ir.Expr, count: int) -> ir.Expr:
    """Where a row is among so many."""
    return integer(0) if count == 1 else ir.Apply(Op.MOD, (row, integer(count)))


def rows_by_array(sites: list[Site], names: Iterable[str], axis: int) -> dict[str, tuple[int, Path]]:
    """For those of the arrays that one loop uses a few rows along `axis` of at a time: how many, and the path of the
    loop.
    """
    loops = {s.stmt.index: s.path for s in sites if isinstance(s.stmt, ir.Loop)}
    touched: dict[str, list[tuple[ir.Access, Path]]] = {}
    for site in sites:
        for access in accesses(site.stmt):
            touched.setdefault(access.array, []).append((access, site.path))
    excluded = {s.stmt.array for s in sites if isinstance(s.stmt, ir.Allocate) and s.stmt.fill is not None}
    excluded |= read_arrays(tuple(s.stmt for s in sites if isinstance(s.stmt, ir.Call)))
    found: dict[str, tuple[int, Path]] = {}
    for name in names:
        uses = touched.get(name, [])
        if name in excluded or not uses or any(len(a.subscripts) < axis + 2 for a, _ in uses):
            continue
        rows = [parted(a.subscripts[axis]) for a, _ in uses]
        base = rows[0][0]
        if not isinstance(base, ir.Index) or any(b != base for b, _ in rows):
            continue
        path = loops[base.name]
        offsets = [offset for _, offset in rows]
        count = 1 << (max(offsets) - min(offsets)).bit_length()
        if all(p[: len(path)] == path for _, p in uses) and count <= tuning.ROLLED_ROWS:
            found[name] = count, path
    return found


def is_own(model: Model, array: str, path: Path) -> bool:
    """Whether each run of the loop at `path`, in steps of one, reads only what it has written to `array`."""
    loop = model.loop(path)
    if not is_unit_step(loop):
        return False
    level = depth_of(model, path) - 1
    reads = (e for e in model.touching(array, False) if not e.is_final)
    return not any(is_exposed(model, e, level) for e in reads)
