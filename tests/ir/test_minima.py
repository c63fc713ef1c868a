"""Sums with minima, maxima and quotients, against all values that they have for small arrays."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping

from loopdiff.frontend.arrays.integers import distance, maximum, minimum
from loopdiff.ir import nodes as ir
from loopdiff.ir.minima import could_be_equal_if_large, difference, is_sum_nonnegative
from loopdiff.ir.ops import Op
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
