"""Data layout of tapes: the axis that vectors run along becomes the last one.

A tape that is only touched by lanes of blocks is kept in such blocks: `T[i, a]` becomes `T[i_block // 64, a,
i - i_block]`, so that what a block needs lies together, and has room for the lanes that the last block lacks.

Only the two sweeps see a tape, so its layout is theirs to choose (Kandemir et al., "Improving locality using loop and
data transformations in an integrated framework", MICRO 1998).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, floordiv, integer
from loopdiff.ir.walk import (
    accesses,
    all_statements,
    indices_in,
    map_accesses,
    map_expr,
    map_stmt_exprs,
    nodes_in,
    read_arrays,
    statements,
)
from loopdiff.mapping.lane_blocks import LaneBlock, lane_block
from loopdiff.model import tuning

Order = tuple[int, ...]
Touches = Sequence[tuple[ir.Access, tuple[ir.Loop, ...]]]


def align_tapes(
    forward: ir.LoopSet, reverse: ir.LoopSet, lanes: frozenset[str] = frozenset()
) -> tuple[ir.LoopSet, ir.LoopSet]:
    """Both sweeps with the axes of tapes reordered where vectors run along another than the last.

    Vectors run along the loops over `lanes`, and elsewhere along the innermost ones.
    """
    sweeps, passed = (forward, reverse), called_with(forward) | called_with(reverse)
    tapes = [d for d in forward.arrays if d.role == "tape" and d.type is not None and d.name not in passed]
    touches = touches_of(sweeps)
    plain = {d.name for d in tapes} - measured_arrays(sweeps) if lanes else frozenset()
    folds = {name: fold for name in sorted(plain) if (fold := common_fold(touches.get(name, ()), lanes)) is not None}
    orders = {
        decl.name: order
        for decl in tapes
        if decl.type is not None and decl.type.rank >= 2 and decl.name not in folds
        if (order := better_order(decl, touches.get(decl.name, ()), lanes)) is not None
    }
    first, second = (folded(reordered(ls, orders), folds) for ls in sweeps) if orders or folds else sweeps
    return first, second


def called_with(ls: ir.LoopSet) -> frozenset[str]:
    """Arrays that functions get parts of, as they lie in memory."""
    return read_arrays(tuple(s for s in all_statements(ls.body) if isinstance(s, ir.Call)))


def better_order(decl: ir.ArrayDecl, touches: Touches, lanes: frozenset[str]) -> Order | None:
    """The axes of a tape with that one last which most accesses move along; None if it is the last already."""
    votes: Counter[int] = Counter()
    for access, loops in touches:
        if not loops:
            continue
        index = next((p.index for p in loops if p.index in lanes), loops[-1].index)
        moving = [axis for axis, s in enumerate(access.subscripts) if coefficient(s, index) != 0]
        if len(moving) == 1 and coefficient(access.subscripts[moving[0]], index) in (1, -1):
            votes[moving[0]] += tuning.TAPE_TRIPS ** len(loops)
    if not votes:
        return None
    rank = len(decl.extents or ())
    (axis, count), *_ = votes.most_common(1)
    if axis == rank - 1 or count < tuning.TAPE_ADVANTAGE * votes[rank - 1]:
        return None
    return (*(k for k in range(rank) if k != axis), axis)


def touches_of(sweeps: tuple[ir.LoopSet, ir.LoopSet]) -> Mapping[str, Touches]:
    """Accesses in both sweeps by their array, each with the loops around it."""
    found: dict[str, list[tuple[ir.Access, tuple[ir.Loop, ...]]]] = {}
    for ls in sweeps:
        for site in statements(ls.body):
            for access in accesses(site.stmt):
                found.setdefault(access.array, []).append((access, site.loops))
    return found


def reordered(ls: ir.LoopSet, orders: Mapping[str, Order]) -> ir.LoopSet:
    def extent(e: ir.Expr) -> ir.Expr:
        if isinstance(e, ir.Dim) and e.array in orders:
            return replace(e, axis=orders[e.array].index(e.axis))
        return e

    def access(a: ir.Access) -> ir.Access:
        if a.array not in orders:
            return a
        return replace(a, subscripts=tuple(a.subscripts[k] for k in orders[a.array]))

    def declaration(decl: ir.ArrayDecl) -> ir.ArrayDecl:
        if decl.name not in orders or decl.extents is None:
            return decl
        return replace(decl, extents=tuple(decl.extents[k] for k in orders[decl.name]))

    body = tuple(map_stmt_exprs(lambda e: map_expr(extent, e), map_accesses(access, s)) for s in ls.body)
    return replace(ls, body=body, arrays=tuple(map(declaration, ls.arrays)))


# -- blocks of lanes -----------------------------------------------------------------------------------------
@immutable
class Fold:
    """Axis `axis` of a tape in blocks of `size`; `blocks` are the loops over its lanes, by their index."""

    axis: int
    size: int
    blocks: Mapping[str, LaneBlock]


def measured_arrays(sweeps: tuple[ir.LoopSet, ir.LoopSet]) -> frozenset[str]:
    """Arrays whose extents the sweeps ask for."""
    return frozenset(e.array for ls in sweeps for e in nodes_in(ls.body) if isinstance(e, ir.Dim))


def common_fold(touches: Touches, lanes: frozenset[str]) -> Fold | None:
    """How to keep a tape in blocks of lanes; None unless all that touches it are lanes of blocks alike."""
    blocks: dict[str, LaneBlock] = {}
    places: set[tuple[int, int]] = set()
    for access, loops in touches:
        loop = next((p for p in loops if p.index in lanes), None)
        block = None if loop is None else lane_block(loop)
        if block is None or not starts_at_zero(block, loops):
            return None
        axes = [k for k, s in enumerate(access.subscripts) if s == ir.Index(block.index)]
        used = indices_in(*access.subscripts)
        if len(axes) != 1 or block.start in used or sum(block.index in indices_in(s) for s in access.subscripts) != 1:
            return None
        blocks[block.index] = block
        places.add((axes[0], block.size))
    if len(places) != 1:
        return None
    ((axis, size),) = places
    return Fold(axis, size, blocks)


def starts_at_zero(block: LaneBlock, loops: tuple[ir.Loop, ...]) -> bool:
    """Whether the blocks are those of 0, size, 2 size and so on."""
    outer = next((p for p in loops if p.index == block.start), None)
    return outer is not None and outer.lower == integer(0) and outer.step == integer(block.size)


def folded(ls: ir.LoopSet, folds: Mapping[str, Fold]) -> ir.LoopSet:
    def access(a: ir.Access) -> ir.Access:
        if a.array not in folds:
            return a
        fold, subscripts = folds[a.array], list(a.subscripts)
        index = subscripts.pop(fold.axis)
        assert isinstance(index, ir.Index)
        block = fold.blocks[index.name]
        number = floordiv(ir.Index(block.start), integer(fold.size))
        return replace(a, subscripts=(number, *subscripts, block.place))

    def declaration(decl: ir.ArrayDecl) -> ir.ArrayDecl:
        if decl.name not in folds or decl.extents is None or decl.type is None:
            return decl
        fold, extents = folds[decl.name], list(decl.extents)
        count = floordiv(add(extents.pop(fold.axis), integer(fold.size - 1)), integer(fold.size))
        kind = replace(decl.type, rank=decl.type.rank + 1)
        return replace(decl, type=kind, extents=(count, *extents, integer(fold.size)))

    body = tuple(map_accesses(access, s) for s in ls.body)
    return replace(ls, body=body, arrays=tuple(map(declaration, ls.arrays)))
