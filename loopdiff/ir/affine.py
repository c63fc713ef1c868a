"""Integer expressions as sums of multiples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import TypeVar

from loopdiff.errors import Span
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ScalarType
from loopdiff.ir.walk import subexprs

T = TypeVar("T")
Sum = dict[ir.Expr, int]
SUMS = (Op.ADD, Op.SUB, Op.MUL, Op.NEG)
LARGEST_SHARED_POWER = 64


def linear(expr: ir.Expr) -> tuple[Sum, int]:
    """`expr` as a sum of multiples of what is not a sum, and a constant."""
    # Asked for as often as anything else, mostly of what is no sum: by type, which costs a fraction of matching.
    if isinstance(expr, ir.Const) and isinstance(expr.value, int):
        return {}, int(expr.value)
    if not isinstance(expr, ir.Apply) or expr.op not in SUMS:
        return {expr: 1}, 0
    terms, constant = linear(expr.args[0])
    if expr.op is Op.NEG:
        return added({}, terms, -1), -constant
    others, more = linear(expr.args[1])
    if expr.op is not Op.MUL:
        sign = 1 if expr.op is Op.ADD else -1
        add_to(terms, others, sign)
        return terms, constant + sign * more
    if not terms:
        return added({}, others, constant), constant * more
    if not others:
        return added({}, terms, more), constant * more
    return {expr: 1}, 0


def added(left: Mapping[T, int], right: Mapping[T, int], factor: int) -> dict[T, int]:
    """The sum of `left` and so many times `right`."""
    total = dict(left)
    add_to(total, right, factor)
    return total


def add_to(total: dict[T, int], right: Mapping[T, int], factor: int) -> None:
    """Add so many times `right` to `total` in its place; what is left of it no more is not in it."""
    for term, count in right.items():
        left = total.get(term, 0) + factor * count
        if left:
            total[term] = left
        else:
            total.pop(term, None)


def factors_of(term: ir.Expr) -> Iterator[ir.Expr]:
    """What is multiplied in `term`, in any order and grouping: both wrap to the same number."""
    match term:
        case ir.Apply(op=Op.MUL, args=(a, b)):
            yield from factors_of(a)
            yield from factors_of(b)
        case _:
            yield term


def joined_powers(expr: ir.Expr, dtype: ScalarType | None = None) -> ir.Expr:
    """The product `expr` of integers with one power of each base, in one order: `2 ** q * 2 * 2 ** (n - q - 1)` is
    `2 ** n`. Powers with negative exponents, which integers have not, are errors where they are evaluated. Literals are
    of type `dtype`."""
    powers: dict[ir.Expr, tuple[Sum, int]] = {}
    others: list[ir.Expr] = []
    count = 1
    for factor in factors_of(expr):
        match factor:
            case ir.Const(value=int(value)):
                count *= int(value)
            case ir.Apply(op=Op.SHL, args=(ir.Const(value=int(value)), exponent)):
                count *= int(value)
                raise_power(powers, ir.Const(2, dtype), exponent)
            case ir.Apply(op=Op.POW, args=(base, exponent)) if not isinstance(base, ir.Const) or is_power_base(base):
                raise_power(powers, base, exponent)
            case _:
                others.append(factor)
    if not powers:
        return expr
    for factor in [f for f in others if f in powers]:
        others.remove(factor)
        raise_power(powers, factor, ir.Const(1, dtype))
    for base, (terms, constant) in powers.items():
        count, constant = (count, constant) if not isinstance(base, ir.Const) else shared_power(count, base, constant)
        in_order = dict(sorted(terms.items(), key=lambda item: repr(item[0])))
        exponent = from_linear(in_order, constant, expr.loc, dtype)
        if exponent != ir.Const(0, dtype):
            others.append(ir.Apply(Op.POW, (base, exponent), loc=expr.loc))
    others.sort(key=repr)
    if not others:
        return ir.Const(count, dtype, loc=expr.loc)
    rest = reduce(lambda a, b: ir.Apply(Op.MUL, (a, b), loc=expr.loc), others)
    return rest if count == 1 else ir.Apply(Op.MUL, (ir.Const(count, dtype, loc=expr.loc), rest), loc=expr.loc)


def quotient_of_powers(total: ir.Expr, rest: ir.Expr, dtype: ScalarType | None = None) -> ir.Expr | None:
    """`total // rest`, if that is a whole number, as a power of what both are powers of, `d ** (q - k)`, where no
    exponent is negative; None where they are none."""
    bases = {f.args[0] for f in factors_of(total) if isinstance(f, ir.Apply) and f.op is Op.POW}
    inverse = list[ir.Expr]()
    for factor in factors_of(rest):
        match factor:
            case ir.Apply(op=Op.POW, args=(base, exponent)) if base in bases:
                less = ir.Apply(Op.SUB, (ir.Const(0, dtype), exponent))
                inverse.append(ir.Apply(Op.POW, (base, less), loc=factor.loc))
            case _ if factor in bases:
                inverse.append(ir.Apply(Op.POW, (factor, ir.Const(-1, dtype)), loc=factor.loc))
            case _:
                return None
    return joined_powers(reduce(lambda a, b: ir.Apply(Op.MUL, (a, b), loc=total.loc), inverse, total), dtype)


def exponents_in(product: ir.Expr) -> Iterator[ir.Expr]:
    """Those of the powers that are multiplied."""
    return (f.args[1] for f in factors_of(product) if isinstance(f, ir.Apply) and f.op is Op.POW)


def is_power_base(base: ir.Const) -> bool:
    return isinstance(base.value, int) and not isinstance(base.value, bool) and base.value > 1


def raise_power(powers: dict[ir.Expr, tuple[Sum, int]], base: ir.Expr, exponent: ir.Expr) -> None:
    """One more factor `base ** exponent` in `powers`."""
    (terms, constant), (more, c) = powers.get(base, ({}, 0)), linear(exponent)
    powers[base] = added(terms, more, 1), constant + c


def shared_power(count: int, base: ir.Const, constant: int) -> tuple[int, int]:
    """`count` times `base ** constant`, with as much of it in the first number as there are integers for."""
    if 0 < constant <= LARGEST_SHARED_POWER:
        return count * int(base.value) ** constant, 0
    while constant < 0 and count and count % int(base.value) == 0:
        count, constant = count // int(base.value), constant + 1
    return count, constant


def from_linear(terms: Sum, constant: int, loc: Span, dtype: ScalarType | None = None) -> ir.Expr:
    """The sum as an expression: what is added, what is subtracted, the constant; literals are of type `dtype`."""
    result: ir.Expr | None = None
    ordered = sorted(terms.items(), key=is_subtracted) if len(terms) > 1 else terms.items()
    for term, count in ordered:
        part = term if abs(count) == 1 else ir.Apply(Op.MUL, (ir.Const(abs(count), dtype, loc=loc), term), loc=loc)
        if result is None and count < 0:
            result, constant = (ir.Const(constant, dtype, loc=loc), 0) if constant > 0 else (None, constant)
        if result is None:
            result = part if count > 0 else ir.Apply(Op.NEG, (part,), loc=loc)
        else:
            result = ir.Apply(Op.ADD if count > 0 else Op.SUB, (result, part), loc=loc)
    if result is None:
        return ir.Const(constant, dtype, loc=loc)
    if constant:
        op = Op.ADD if constant > 0 else Op.SUB
        return ir.Apply(op, (result, ir.Const(abs(constant), dtype, loc=loc)), loc=loc)
    return result


def is_subtracted(item: tuple[ir.Expr, int]) -> bool:
    return item[1] < 0


def folded(expr: ir.Expr, dtype: ScalarType | None = None) -> ir.Expr:
    """`expr` with its sums folded, their literals of type `dtype`."""
    return from_linear(*linear(expr), expr.loc, dtype)


def is_index_arithmetic(expr: ir.Expr) -> bool:
    """Whether `expr` combines indices, extents and small constants by +, - and * only: it cannot overflow."""
    return all(
        isinstance(e, ir.Index | ir.Dim | ir.SizeOf)
        or (isinstance(e, ir.Apply) and e.op in (Op.ADD, Op.SUB, Op.MUL, Op.NEG))
        or (isinstance(e, ir.Const) and abs(e.value) < 1 << 16)
        for e in subexprs(expr)
    )
