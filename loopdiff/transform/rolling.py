"""Rows that few iterations need: of arrays of its own that a loop uses row by row a function keeps only these.

    for i in range(N):                               for i in range(N):
        for j: lap[i, j] = f[i + 1, j] - f[i, j]         for j: lap[i % 2, j] = f[i + 1, j] - f[i, j]
        if i >= 1:                            becomes    if i >= 1:
            for j: y[i, j] = lap[i, j] - lap[i - 1, j]       for j: y[i, j] = lap[i % 2, j] - lap[(i - 1) % 2, j]

Fused nests hand rows on to each other; rows that stay in cache until they are written anew never go to memory (array
contraction: Darte and Isoard, "Exact and approximated data-reuse optimizations for tiling with parametric sizes", CC
2015). An iteration touches rows `i + low` to `i + high`, so that all of them have different places modulo their number,
and a row has been touched for the last time when another takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from loopdiff.analysis.exposure import depth_of, is_exposed
from loopdiff.analysis.polyhedra import Model, build_model
from loopdiff.ir.build import integer, is_constant, parted
from loopdiff.ir.nodes import Access, Allocate, Apply, ArrayResult, Call, Index, Loop, LoopSet, ScalarResult
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import Path, Site, accesses, loads, map_accesses, read_arrays, statements

MOST_ROWS = 16


def roll_rows(ls: LoopSet, reader: LoopSet | None = None) -> LoopSet:
    """`ls` with places for a few rows only in arrays of its own that one loop uses row by row.

    `reader` goes on with the arrays that `ls` leaves.
    """
    sites = list(statements(ls.body))
    wanted = frozenset() if reader is None else read_arrays(reader.body)
    wanted |= {r.array for r in ls.results if isinstance(r, ArrayResult)}
    values = (r.value for r in ls.results if isinstance(r, ScalarResult))
    wanted |= {e.access.array for v in values for e in loads(v)}
    own = (a.name for a in ls.arrays if a.extents is not None and a.role in ("local", "adjoint") and a.type is not None)
    found = rows_by_array(sites, (n for n in own if n not in wanted))
    if found:
        model = build_model(ls)
        found = {n: (count, path) for n, (count, path) in found.items() if is_own(model, n, path)}

    def rolled(access: Access) -> Access:
        if access.array not in found or not access.subscripts:
            return access
        row, *rest = access.subscripts
        count, _ = found[access.array]
        place = integer(0) if count == 1 else Apply(Op.MOD, (row, integer(count)))
        return replace(access, subscripts=(place, *rest))

    return replace(ls, body=tuple(map_accesses(rolled, s) for s in ls.body)) if found else ls


def rows_by_array(sites: list[Site], names: Iterable[str]) -> dict[str, tuple[int, Path]]:
    """For those of the arrays that one loop uses a few rows of at a time: how many, and the path of the loop."""
    loops = {s.stmt.index: s.path for s in sites if isinstance(s.stmt, Loop)}
    touched: dict[str, list[tuple[Access, Path]]] = {}
    for site in sites:
        for access in accesses(site.stmt):
            touched.setdefault(access.array, []).append((access, site.path))
    excluded = {s.stmt.array for s in sites if isinstance(s.stmt, Allocate) and s.stmt.fill is not None}
    excluded |= read_arrays(tuple(s.stmt for s in sites if isinstance(s.stmt, Call)))
    found: dict[str, tuple[int, Path]] = {}
    for name in names:
        uses = touched.get(name, [])
        if name in excluded or not uses or any(len(a.subscripts) < 2 for a, _ in uses):
            continue
        rows = [parted(a.subscripts[0]) for a, _ in uses]
        base = rows[0][0]
        if not isinstance(base, Index) or any(b != base for b, _ in rows):
            continue
        path = loops[base.name]
        offsets = [offset for _, offset in rows]
        count = 1 << (max(offsets) - min(offsets)).bit_length()
        if all(p[: len(path)] == path for _, p in uses) and count <= MOST_ROWS:
            found[name] = count, path
    return found


def is_own(model: Model, array: str, path: Path) -> bool:
    """Whether each run of the loop at `path`, in steps of one, reads only what it has written to `array`."""
    loop = model.loop(path)
    if not (is_constant(loop.step, 1) or is_constant(loop.step, -1)):
        return False
    level = depth_of(model, path) - 1
    reads = (e for e in model.touching(array, False) if not e.is_final)
    return not any(is_exposed(model, e, level) for e in reads)
