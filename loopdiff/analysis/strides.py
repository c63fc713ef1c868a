"""How an access moves through memory as one loop advances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal

from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant
from loopdiff.ir.ops import Op
from loopdiff.ir.reachability import reached
from loopdiff.ir.walk import Path, indices_in, statements, subexprs

Stride = Literal["uniform", "unit", "strided", "indexed"]
CLOSE = 4  # elements from lane to lane, at most, of lanes that a few whole vectors hold
LEAST_BYTES = 4  # of such elements: masked moves of smaller ones are instructions of few processors


def coefficient(expr: ir.Expr, index: str) -> int | None:
    """The constant factor of the index in `expr`, 0 if it does not occur; None if `expr` is not linear in it."""
    match expr:
        case ir.Index(name=name):
            return 1 if name == index else 0
        case ir.Apply(op=Op.NEG, args=(a,)):
            inner = coefficient(a, index)
            return None if inner is None else -inner
        case ir.Apply(op=Op.ADD | Op.SUB as op, args=(a, b)):
            left, right = coefficient(a, index), coefficient(b, index)
            if left is None or right is None:
                return None
            return left + right if op is Op.ADD else left - right
        case ir.Apply(op=Op.MUL, args=(a, b)):
            left, right = coefficient(a, index), coefficient(b, index)
            if left == 0 and right == 0:
                return 0
            if isinstance(a, ir.Const) and right is not None:
                return int(a.value) * right
            if isinstance(b, ir.Const) and left is not None:
                return int(b.value) * left
            return None
        case _:
            return None if index in indices_in(expr) else 0


def direction(bound: ir.Expr, index: str) -> int | None:
    """1 for a bound that grows with the index, -1 for one that falls, 0 if it stays; None if that is not plain."""
    match bound:
        case ir.Index(name=name):
            return int(name == index)
        case ir.Apply(op=Op.ADD | Op.MIN | Op.MAX, args=args):
            found = [direction(a, index) for a in args]
        case ir.Apply(op=Op.SUB, args=(a, b)):
            right = direction(b, index)
            found = [direction(a, index), None if right is None else -right]
        case _:
            return None if index in indices_in(bound) else 0
    ways = set(found) - {0}
    return None if len(ways) > 1 or None in ways else next(iter(ways), 0)


def lane_axis(access: ir.Access, index: str, varying: frozenset[str]) -> tuple[int, int] | None:
    """(axis, step) of an access that moves along one axis only; None if it is uniform or moves otherwise."""
    moving: list[tuple[int, int]] = []
    for axis, subscript in enumerate(access.subscripts):
        if is_varying(subscript, varying - {index}):
            return None
        step = coefficient(subscript, index)
        elements = [e for e in subexprs(subscript) if isinstance(e, ir.Load) and e.access.subscripts]
        is_indirect = any(is_indexed_by(e, index, varying) for e in elements)
        if step is None or is_indirect:
            return None
        if step:
            moving.append((axis, step))
    return moving[0] if len(moving) == 1 else None


def is_indexed_by(expr: ir.Expr, index: str, varying: frozenset[str]) -> bool:
    """Whether `expr` mentions the index or a varying name anywhere."""
    return any(
        (isinstance(e, ir.Index) and e.name == index)
        or (isinstance(e, ir.Var) and e.name in varying)
        or (isinstance(e, ir.Load) and not e.access.subscripts and e.access.array in varying)
        for e in subexprs(expr)
    )


def stride_of(access: ir.Access, index: str, varying: frozenset[str], ls: ir.LoopSet) -> Stride:
    """How the lanes of a vector along the loop over `index` would meet `access`, given the names that vary in it."""
    if not any(is_indexed_by(s, index, varying) for s in access.subscripts):
        return "uniform"
    moved = lane_axis(access, index, varying)
    if moved is None:
        return "indexed"
    axis, step = moved
    return "unit" if axis == dense_axis(access, ls) and step == 1 else "strided"


def dense_axis(access: ir.Access, ls: ir.LoopSet) -> int | None:
    """The axis along which elements are neighbours in memory, which is one of more than one element; None if there may
    be none."""
    decl = ls.array(access.array)
    layout = decl.type.layout if decl.type is not None else "A"
    axes = range(len(access.subscripts))
    inward = {"C": axes[::-1], "F": axes}.get(layout, range(0))
    extents = dict(enumerate(decl.extents or ()))
    return next((axis for axis in inward if axis not in extents or not is_constant(extents[axis], 1)), None)


def is_reversed_run(access: ir.Access, index: str, varying: frozenset[str], ls: ir.LoopSet) -> bool:
    """Whether the lanes meet neighbours in memory, the last one first: one load and a reversal."""
    moved = lane_axis(access, index, varying)
    return moved is not None and moved == (dense_axis(access, ls), -1)


def memory_axis(access: ir.Access, index: str, varying: frozenset[str], ls: ir.LoopSet) -> tuple[int, int] | None:
    """(axis, step) of an access that moves along one axis, as near to memory as may be: one part of complex elements
    side by side is every other element along the last axis."""
    moved = lane_axis(access, index, varying)
    kind = ls.array(access.array).type
    if moved is None or kind is None or not kind.is_pair or kind.layout != "C" or moved[0] != kind.rank - 2:
        return moved
    return kind.rank - 1, 2 * moved[1]


def close_step(access: ir.Access, index: str, varying: frozenset[str], ls: ir.LoopSet) -> int:
    """How many elements lanes lie apart that are close to each other in memory; 0 where they are neighbours or far."""
    moved = memory_axis(access, index, varying, ls)
    return moved[1] if moved is not None and moved[0] == dense_axis(access, ls) and 2 <= moved[1] <= CLOSE else 0


def varying_names(loop: ir.Loop) -> frozenset[str]:
    """The index, Lets and cells whose values differ between the iterations of `loop`."""
    onward: defaultdict[str | Path, list[str | Path]] = defaultdict(list)
    for site in statements(loop.body):
        block, sources, made = site.path[:-1], iter(()), site.path  # a path: which iterations get there
        match site.stmt:
            case ir.Let(name=made, value=value):
                sources = deciding_names(value)
                if not any(isinstance(e, ir.Load) and e.access.subscripts for e in subexprs(value)):
                    block = ()  # wherever it is computed, it is the same
            case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
                if not target.subscripts:
                    sources, made = deciding_names(value), target.array
            case ir.If(cond=cond):
                sources = deciding_names(cond)
            case _:
                pass
        for source in (block, *sources):
            onward[source].append(made)
    return frozenset(n for n in reached((loop.index,), onward) if isinstance(n, str))


def deciding_names(expr: ir.Expr) -> Iterator[str]:
    """The indices, Lets and cells that `expr` mentions: it differs between lanes where one of them does."""
    for node in subexprs(expr):
        match node:
            case ir.Index(name=name) | ir.Var(name=name):
                yield name
            case ir.Load(access=access) if not access.subscripts:
                yield access.array
            case _:
                pass


def is_varying(expr: ir.Expr, varying: frozenset[str]) -> bool:
    """Whether `expr` mentions a name that differs between lanes; a load does so through its subscripts."""
    return any(name in varying for name in deciding_names(expr))
