"""Sums with minima, maxima and quotients, against all values that they have for small arrays."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce

from loopdiff.frontend.arrays.integers import distance, maximum, minimum
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import joined_powers
from loopdiff.ir.minima import could_be_equal_if_large, difference, is_sum_nonnegative
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from tests.lengths import IS_LONG

N, M = ir.Dim("x", 0), ir.Dim("y", 0)
EXTENTS = [{N: n, M: m} for n, m in itertools.product(range(6), repeat=2)]


def drawn(rng: random.Random, depth: int) -> ir.Expr:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice((N, N, M, ir.Const(rng.randint(-3, 4))))
    op = rng.choice((Op.ADD, Op.SUB, Op.MIN, Op.MAX, Op.FLOORDIV, Op.MUL))
    a = drawn(rng, depth - 1)
    if op is Op.MUL:
        return ir.Apply(op, rng.choice(((a, drawn(rng, 0)), (drawn(rng, 0), a))))
    b = ir.Const(rng.randint(1, 3)) if op is Op.FLOORDIV else drawn(rng, depth - 1)
    return ir.Apply(op, (a, b))


def value(expr: ir.Expr, extents: Mapping[ir.Expr, int]) -> int:
    match expr:
        case ir.Const(value=constant):
            return int(constant)
        case ir.Dim():
            return extents[expr]
        case ir.Apply(op=op, args=(a, b)):
            one, other = value(a, extents), value(b, extents)
            results = {
                Op.ADD: lambda: one + other,
                Op.SUB: lambda: one - other,
                Op.MUL: lambda: one * other,
                Op.MIN: lambda: min(one, other),
                Op.MAX: lambda: max(one, other),
                Op.FLOORDIV: lambda: one // other,
            }
            return results[op]()
    raise AssertionError(expr)


def test_what_is_seen_of_two_numbers_is_so() -> None:
    rng, known, ordered = random.Random(11), 0, 0
    for _ in range(1500 if IS_LONG else 500):
        a, b = drawn(rng, 3), drawn(rng, 3)
        gaps = {value(a, e) - value(b, e) for e in EXTENTS}
        gap = distance(a, b)
        if gap is not None:
            known += 1
            assert gaps == {gap}, (a, b)
        if is_sum_nonnegative(*difference(a, b)):
            ordered += 1
            assert min(gaps) >= 0, (a, b)
        for made, wanted in ((minimum(a, b), min), (maximum(a, b), max)):
            assert all(value(made, e) == wanted(value(a, e), value(b, e)) for e in EXTENTS), (a, b)
    assert known > 13
    assert ordered > 66


def least(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Apply(Op.MIN, (a, b))


def greatest(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Apply(Op.MAX, (a, b))


def less(a: ir.Expr, number: int) -> ir.Expr:
    return ir.Apply(Op.SUB, (a, ir.Const(number)))


def test_the_two_parts_of_an_array_are_all_of_it() -> None:
    one, none = ir.Const(1), ir.Const(0)
    assert distance(ir.Apply(Op.ADD, (least(N, one), greatest(less(N, 1), none))), N) == 0
    assert distance(ir.Apply(Op.ADD, (least(N, one), greatest(less(M, 1), none))), N) is None


def test_a_bound_that_is_there_already_changes_nothing() -> None:
    three = ir.Const(3)
    assert maximum(greatest(N, three), three) == greatest(N, three)
    assert minimum(greatest(N, three), three) == three
    assert minimum(three, greatest(N, three)) == three


def test_lengths_that_are_equal_for_large_arrays_alone() -> None:
    three = ir.Const(3)
    assert could_be_equal_if_large(N, greatest(N, three))
    assert could_be_equal_if_large(N, greatest(M, N))
    assert could_be_equal_if_large(N, ir.Apply(Op.SUB, (ir.Apply(Op.ADD, (N, three)), M)))
    assert not could_be_equal_if_large(N, less(N, 1))
    assert not could_be_equal_if_large(N, ir.Apply(Op.ADD, (N, M)))
    assert not could_be_equal_if_large(M, greatest(less(M, 1), three))
    assert not could_be_equal_if_large(N, M)
    assert not could_be_equal_if_large(N, ir.Apply(Op.FLOORDIV, (N, ir.Const(2))))


def test_parts_of_equal_length_end_inside_of_what_they_are_parts_of() -> None:
    for count in range(2, 6):
        size = ir.Apply(Op.FLOORDIV, (N, ir.Const(count)))
        for k in range(count + 3):
            end = ir.Apply(Op.MUL, (ir.Const(k), size))
            assert is_sum_nonnegative(*difference(N, end)) == (k <= count)
            assert (minimum(end, N) == end) == (k <= count)
        wide = ir.Apply(Op.MUL, (ir.Const(count), ir.Apply(Op.FLOORDIV, (ir.Apply(Op.ADD, (N, M)), ir.Const(count)))))
        assert is_sum_nonnegative(*difference(ir.Apply(Op.ADD, (N, M)), wide))
        assert not is_sum_nonnegative(*difference(N, wide))


def test_products_of_powers_are_equal_where_they_always_are() -> None:
    """Random products, also of shifts, of powers of 2, of 3 and of a number that is not known."""
    rng, known = random.Random(5), 0
    d = ir.Param("d")
    exponents = [N, M, ir.Apply(Op.SUB, (N, M)), ir.Apply(Op.ADD, (M, ir.Const(2))), ir.Apply(Op.SUB, (N, ir.Const(1)))]

    def factor() -> ir.Expr:
        base = rng.choice((ir.Const(2), ir.Const(2), ir.Const(3), d))
        ways = (
            base,
            ir.Apply(Op.POW, (base, rng.choice(exponents))),
            ir.Apply(Op.SHL, (ir.Const(6), rng.choice(exponents))),
        )
        return rng.choice(ways)

    def power(expr: ir.Expr, values: Mapping[ir.Expr, int]) -> Fraction:
        match expr:
            case ir.Apply(op=Op.ADD | Op.SUB as op, args=(a, b)):
                return power(a, values) + (1 if op is Op.ADD else -1) * power(b, values)
            case ir.Apply(op=Op.MUL, args=(a, b)):
                return power(a, values) * power(b, values)
            case ir.Apply(op=Op.POW | Op.SHL as op, args=(a, b)):
                one, other = power(a, values), power(b, values)
                return one ** int(other) if op is Op.POW else one * Fraction(2) ** int(other)
            case ir.Const(value=value):
                return Fraction(value)
            case _:
                return Fraction(values[expr])

    for _ in range(300):
        factors = [factor() for _ in range(rng.randint(1, 4))]
        a = reduce(lambda x, y: ir.Apply(Op.MUL, (x, y)), factors)
        rng.shuffle(factors)
        changed = [*factors[:-1], rng.choice((factors[-1], factor()))]
        b = reduce(lambda x, y: ir.Apply(Op.MUL, (y, x)), changed)
        all_values = [{N: n, M: m, d: k} for n, m, k in itertools.product(range(4), range(4), (2, 5))]
        is_same = all(power(a, v) == power(b, v) == power(joined_powers(b), v) for v in all_values)
        assert (distance(a, b) == 0) == is_same, (print_expr(a), print_expr(b))
        known += is_same
    assert known > 120
