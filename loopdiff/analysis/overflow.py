"""Overflow of 64-bit integers in conditions on extents and integer arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import factors_of
from loopdiff.ir.build import all_of, at_least_one, compare, floordiv, integer, mul
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import operands, subexprs

TOO_LARGE = 1 << 63
ALLOWED = (1 << 40, 1 << 31, 1 << 30)  # numbers that are given, as large as the condition has room for
FEW = (1 << 20,)  # where three are multiplied that are no extents of one array
EXTENT = 1 << 48  # of arrays that have elements, and how many of these there are
SUMS = (Op.ADD, Op.SUB, Op.NEG, Op.MUL)


@immutable
class SizeOfAxes:
    """The product of extents of one array. NumPy makes no array in which that overflows, elements or none."""

    array: str
    axes: frozenset[int]


def without_overflow(cond: ir.Expr) -> ir.Expr | None:
    """What numbers in `cond` have to satisfy so that no sum or product in it overflows: they are less than a power of
    two, or extents of one array have a product that is. None if there is no such power."""
    sums = [e for e in subexprs(cond) if isinstance(e, ir.Apply) and e.op in SUMS]
    has_products = any(e.op == Op.MUL and not any(isinstance(a, ir.Const) for a in e.args) for e in sums)
    given = ir.Param | ir.Dim if has_products else ir.Param
    names = tuple(dict.fromkeys(n for e in sums for n in subexprs(e) if isinstance(n, given)))
    if not names:
        return ir.Const(True, BOOL)
    for most in ALLOWED:
        if all(magnitude(e, most, most if has_products else EXTENT) < TOO_LARGE for e in sums):
            return all_of(limit for name in names for limit in limits(name, most))
    groups = tuple(dict.fromkeys(g for e in sums for g in groups_in(e)))
    for most in (*ALLOWED, *FEW) if groups else ():
        if all(magnitude(e, most, EXTENT, groups) < TOO_LARGE for e in sums):
            sizes = (compare(Op.LE, size_of(g), integer(EXTENT)) for g in groups)
            others = (e for n in names for e in limits(n, EXTENT if isinstance(n, ir.Dim) else most))
            return all_of((*sizes, *others))
    sizes, (most,) = largest_products(sums), FEW
    if sizes and all(magnitude(e, most, EXTENT, of_all=True) < TOO_LARGE for e in sums):
        others = (n for n in names if not any(n in dims for dims in sizes))
        bounds = (e for n in others for e in limits(n, EXTENT if isinstance(n, ir.Dim) else most))
        return all_of((*map(is_small, sizes), *bounds))
    for most in FEW:
        if all(magnitude(e, most, most) < TOO_LARGE for e in sums):
            return all_of(limit for name in names for limit in limits(name, most))
    return None


def largest_products(sums: Sequence[ir.Apply]) -> list[tuple[ir.Expr, ...]]:
    """Extents that are multiplied in `sums`, of whichever arrays; without those that others are more of."""
    found = dict.fromkeys(extents_multiplied(e) for e in sums if e.op is Op.MUL)
    counts = {dims: Counter(dims) for dims in found if len(dims) > 1}
    return [a for a in counts if not any(b != a and counts[a] <= counts[b] for b in counts)]


def extents_multiplied(product: ir.Expr) -> tuple[ir.Expr, ...]:
    return tuple(sorted((f for f in factors_of(product) if isinstance(f, ir.Dim)), key=repr))


def is_small(extents: tuple[ir.Expr, ...]) -> ir.Expr:
    """Whether the product of `extents`, and of any of them, is at most that of an array, told without multiplying."""
    first, *rest = extents
    return compare(
        Op.LE, first, reduce(lambda most, extent: floordiv(most, at_least_one(extent)), rest, integer(EXTENT))
    )


def groups_in(expr: ir.Expr) -> Iterator[SizeOfAxes]:
    """Extents of one array that are multiplied in `expr`, each axis once."""
    if isinstance(expr, ir.Apply) and expr.op is Op.MUL:
        dims = [f for f in factors_of(expr) if isinstance(f, ir.Dim)]
        for array in dict.fromkeys(d.array for d in dims):
            axes = [d.axis for d in dims if d.array == array]
            if len(set(axes)) == len(axes):
                yield SizeOfAxes(array, frozenset(axes))


def size_of(group: SizeOfAxes) -> ir.Expr:
    dims: list[ir.Expr] = [ir.Dim(group.array, axis) for axis in sorted(group.axes)]
    return reduce(mul, dims)


def limits(name: ir.Expr, most: int) -> Iterator[ir.Expr]:
    yield compare(Op.LE, name, integer(most))
    if isinstance(name, ir.Param):
        yield compare(Op.GE, name, integer(-most))


def magnitude(
    expr: ir.Expr, param: int, extent: int, groups: tuple[SizeOfAxes, ...] = (), *, of_all: bool = False
) -> int:
    """How far from zero a value is at most, if scalars and extents are no farther than these, and products of `groups`,
    or `of_all` extents, no farther than `extent`."""
    if of_all and isinstance(expr, ir.Apply) and expr.op is Op.MUL:
        others = [f for f in factors_of(expr) if not isinstance(f, ir.Dim)]
        size = extent if len(extents_multiplied(expr)) else 1
        return prod(magnitude(f, param, extent, of_all=True) for f in others) * size
    if groups and isinstance(expr, ir.Apply) and expr.op is Op.MUL:
        found = list(groups_in(expr))
        arrays = {g.array for g in found}
        others = [f for f in factors_of(expr) if not (isinstance(f, ir.Dim) and f.array in arrays)]
        return prod(magnitude(f, param, extent, groups) for f in others) * extent ** len(found)
    inner = [magnitude(e, param, extent, groups, of_all=of_all) for e in operands(expr)]
    match expr:
        case ir.Const(value=value):
            return abs(int(value))
        case ir.Param():
            return param
        case ir.Dim():
            return extent
        case ir.Apply(op=Op.ADD | Op.SUB):
            return sum(inner)
        case ir.Apply(op=Op.MUL):
            return prod(inner)
        case _:
            return max(inner, default=TOO_LARGE)
