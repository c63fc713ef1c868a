"""Collection of like terms in sums: `0.2 * a + (-(b * 0.2)) + 2.0 * c - c` is `0.2 * (a - b) + c`.

In another order, and with products of constants rounded in another place: for sums that may run in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, mul, sub, zero
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ScalarType
from loopdiff.ir.typing import type_env, type_of
from loopdiff.ir.walk import map_stmt_exprs, operands, rebuild

Term = tuple[float, ir.Expr]
MOST_IN_ORDER = 50  # terms that are added one after the other


def with_like_terms(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with the like terms of its sums collected, where these have elements or names in common: second differences
    along several axes add each neighbour once, and what is in the middle once for all axes."""
    types = type_env(ls)

    def tidied(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Apply) and expr.op in (Op.ADD, Op.SUB) and (kind := type_of(expr, types)).is_float:
            parts = [(factor, value) for factor, value in terms(expr, {}, kind) if isinstance(value, ir.Load | ir.Var)]
            factors = total_factors(parts)
            # What cancels might not be finite.
            if len(factors) < len(parts) and all(factors.values()) and all(type_of(v, types) == kind for v in factors):
                return collected([expr], {}, kind)
        old = operands(expr)
        new = tuple(map(tidied, old))
        return expr if all(a is b for a, b in zip(old, new, strict=True)) else rebuild(expr, new)

    return replace(ls, body=tuple(map_stmt_exprs(tidied, s) for s in ls.body))


def collected(values: Sequence[ir.Expr], lets: Mapping[str, ir.Expr], kind: ScalarType) -> ir.Expr:
    """The sum of `values` of type `kind`, in which Vars may stand for what `lets` say."""
    groups: dict[float, list[Term]] = {}
    for value, factor in total_factors(t for v in values for t in terms(v, lets, kind)).items():
        groups.setdefault(abs(factor), []).append((factor, value))
    if not groups:
        return zero(kind)
    return signed_sum([scaled(size, group, kind) for size, group in groups.items()])


def total_factors(parts: Iterable[Term]) -> dict[ir.Expr, float]:
    """By value, all its factors added up."""
    factors: dict[ir.Expr, float] = {}
    for factor, value in parts:
        factors[value] = factors.get(value, 0.0) + factor
    return factors


def terms(expr: ir.Expr, lets: Mapping[str, ir.Expr], kind: ScalarType) -> Iterator[Term]:
    """What `expr` adds up, each with a constant factor."""
    match expr:
        case ir.Apply(op=Op.ADD, args=(a, b)):
            yield from terms(a, lets, kind)
            yield from terms(b, lets, kind)
        case ir.Apply(op=Op.SUB, args=(a, b)):
            yield from terms(a, lets, kind)
            yield from ((-factor, value) for factor, value in terms(b, lets, kind))
        case ir.Apply(op=Op.NEG, args=(a,)):
            yield from ((-factor, value) for factor, value in terms(a, lets, kind))
        case (
            ir.Apply(op=Op.MUL, args=(a, ir.Const(dtype=dtype) as by))
            | ir.Apply(op=Op.MUL, args=(ir.Const(dtype=dtype) as by, a))
        ) if dtype is kind:
            yield from ((factor * float(by.value), value) for factor, value in terms(a, lets, kind))
        case ir.Var():
            yield followed(expr, lets, kind)
        case _:
            yield 1.0, expr


def followed(var: ir.Var, lets: Mapping[str, ir.Expr], kind: ScalarType) -> Term:
    """The name or the load that `var` is a multiple of, through Lets that are no more than that, however many."""
    found: ir.Expr = var
    sizes: list[float] = []
    while isinstance(found, ir.Var) and found.name in lets:
        size, value = multiple(lets[found.name], kind)
        if not isinstance(value, ir.Var | ir.Load):
            break
        sizes.append(size)
        found = value
    return reduce(lambda factor, size: factor * size, reversed(sizes), 1.0), found


def multiple(expr: ir.Expr, kind: ScalarType) -> Term:
    """The constant factors of `expr`, and the rest."""
    match expr:
        case ir.Apply(op=Op.NEG, args=(a,)):
            factor, value = multiple(a, kind)
            return -factor, value
        case (
            ir.Apply(op=Op.MUL, args=(a, ir.Const(dtype=dtype) as by))
            | ir.Apply(op=Op.MUL, args=(ir.Const(dtype=dtype) as by, a))
        ) if dtype is kind:
            factor, value = multiple(a, kind)
            return factor * float(by.value), value
        case _:
            return 1.0, expr


def scaled(size: float, group: list[Term], kind: ScalarType) -> Term:
    """The terms of a `group`, with factors of that `size`, as one: its sign and the rest."""
    sign = 1.0 if any(factor >= 0 for factor, _ in group) else -1.0
    found = signed_sum([(1.0 if factor * sign >= 0 else -1.0, value) for factor, value in group])
    return sign, mul(found, ir.Const(size, kind))


def signed_sum(parts: list[Term]) -> ir.Expr:
    """A sum of terms with factors of 1 and -1, a positive one first; long ones in halves, whose depth they have."""
    first, *rest = sorted(parts, key=lambda part: part[0] < 0)
    if len(rest) >= MOST_IN_ORDER:
        half = len(parts) // 2
        sign = rest[half - 1][0]  # with a negative one all after it are negative
        left, right = [first, *rest[: half - 1]], [(sign * factor, value) for factor, value in rest[half - 1 :]]
        return (add if sign > 0 else sub)(signed_sum(left), signed_sum(right))
    start = first[1] if first[0] > 0 else ir.Apply(Op.NEG, (first[1],))
    return reduce(lambda total, part: (add if part[0] > 0 else sub)(total, part[1]), rest, start)
