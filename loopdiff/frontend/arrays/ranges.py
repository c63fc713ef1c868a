"""What is certain of integers because of the loops around: `i + 1 <= N - 1` in `for i in range(N - 2)`.

Whoever asks stands in those loops, where their variables are between the first and the last value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import TypeGuard

from loopdiff.errors import NOWHERE, Span
from loopdiff.frontend.arrays.integers import (
    ONE,
    ZERO,
    Test,
    at_least_zero,
    divided,
    is_nonnegative,
    maximum,
    minimum,
    minus,
    plus,
    sums_of_minimum,
    times,
)
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import Sum, added, from_linear, joined_powers, linear
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads


def is_nonnegative_here(state: State, expr: ir.Expr) -> bool:
    """Whether `expr` is certainly not negative here."""
    sums = alternatives(*linear(state.known(expr)))
    return is_nonnegative(expr) or all(is_sum_nonnegative_here(state, *s) for s in sums)


def is_sum_nonnegative_here(state: State, terms: Sum, constant: int) -> bool:
    """Maxima give way before the variables of loops: `max(i - 2, 0) - i` is at least -2; or after these, which may
    leave what a maximum is beside: `max(N - k, 0) - i` where `i` ends at `N - k`."""
    found = least_sum(state, terms, constant)
    if is_nonnegative(from_linear(*found, NOWHERE)):
        return True
    other = least_sum(state, *without_variables(state, terms, constant))
    return other != found and is_nonnegative(from_linear(*other, NOWHERE))


def is_nonnegative_in_loops(state: State, expr: ir.Expr) -> bool:
    """Whether `expr` is certainly not negative in iterations of the loops around: `N` in `for i in range(N)`.

    Not of use for the extents of arrays, which are made where no loop may run.
    """
    return is_nonnegative_here(state, expr) or any(
        is_nonnegative_here(state, minus(expr, least)) for least in state.whole.entered
    )


def tests_of_slices(state: State) -> tuple[Test, Test]:
    """What `slice_part` asks of lengths, and of bounds."""
    if state.whole.is_inside:
        return lambda _: True, lambda _: True
    return partial(is_nonnegative_here, state), partial(is_nonnegative_in_loops, state)


def alternatives(terms: Sum, constant: int) -> Iterator[tuple[Sum, int]]:
    """Sums of which one is `terms` and `constant`: with one operand or the other of what is the least of several."""
    for term, count in terms.items():
        if isinstance(term, ir.Apply) and term.op is (Op.MIN if count > 0 else Op.MAX):
            rest = {t: n for t, n in terms.items() if t != term}
            for operand, c in map(linear, term.args):
                yield from alternatives(added(rest, operand, count), constant + count * c)
            return
    yield terms, constant


def least(state: State, expr: ir.Expr) -> ir.Expr:
    """What `expr` is never less than here, without minima, maxima and variables of loops whose range is known."""
    return from_linear(*least_sum(state, *linear(state.known(expr))), expr.loc)


def lowest(state: State, expr: ir.Expr) -> ir.Expr:
    """`least`, also of what is the least of several."""
    match state.known(expr):
        case ir.Apply(op=Op.MIN, args=args):
            return reduce(minimum, (lowest(state, a) for a in args))
        case found:
            return least(state, found)


def least_sum(state: State, terms: Sum, constant: int) -> tuple[Sum, int]:
    for term, count in terms.items():
        rest = {t: n for t, n in terms.items() if t != term}
        if is_bounded_by_operands(term, count):
            return least_sum(state, *shortest(rest, constant, count, term.args))
    for term, count in sorted(terms.items(), key=lambda item: depth(state, item[0]), reverse=True):
        found = limit_of(state, term, count)
        if found is not None:
            limit, offset = found
            rest = {t: n for t, n in terms.items() if t != term}
            return least_sum(state, added(rest, limit, 1), constant + offset)
    return terms, constant


def without_variables(state: State, terms: Sum, constant: int) -> tuple[Sum, int]:
    """A sum that this one is never less than, in which no variable of a loop is a term of its own."""
    inside = [t for t in terms if isinstance(t, ir.Load) and t.access.array in state.whole.ranges]
    if not inside:
        return terms, constant
    term = max(inside, key=lambda t: depth(state, t))
    limit, offset = limit_of(state, term, terms[term]) or ({}, 0)
    rest = {t: n for t, n in terms.items() if t != term}
    return without_variables(state, added(rest, limit, 1), constant + offset)


def depth(state: State, term: ir.Expr) -> int:
    """Where `term` is in the order in which terms are replaced by limits: variables of inner loops, whose limits are
    made of those of outer ones, before these, and operations on variables before all.
    """
    cells = list(state.whole.ranges)
    cell = term.access.array if isinstance(term, ir.Load) else None
    return cells.index(cell) if cell in cells else len(cells)


def is_bounded_by_operands(term: ir.Expr, count: int) -> TypeGuard[ir.Apply]:
    """Whether `count` times `term` is never less than `count` times any operand of it."""
    return isinstance(term, ir.Apply) and term.op is (Op.MAX if count > 0 else Op.MIN)


def shortest(rest: Sum, constant: int, count: int, operands: Sequence[ir.Expr]) -> tuple[Sum, int]:
    """`rest` and `constant` with `count` times the operand that leaves the fewest terms, as others cancel out."""
    sums = [(added(rest, t, count), constant + count * c) for t, c in map(linear, operands)]
    return min(sums, key=lambda s: len(s[0]))


def keep_range(state: State, cell: str, expr: ir.Expr) -> None:
    """Note what is certain of `cell`, which holds the value that `expr` has here, also after the loops around."""
    lower, upper = lowest(state, expr), limit(state, state.known(expr))
    if upper is not None and not state.is_fixed(lower) and is_nonnegative_here(state, expr):
        lower = ZERO
    if upper is not None and state.is_fixed(lower):
        state.whole.ranges[cell] = (lower, plus(upper, ONE))
    counts = {c for found in state.whole.resized.values() for c in found.counts}
    known = counts | state.whole.held.keys() | state.whole.most.keys()
    if any(e.access.array in known for e in loads(expr)):
        state.whole.held[cell] = expr


def limit_of(state: State, term: ir.Expr, count: int) -> tuple[Sum, int] | None:
    """A sum that `count` times `term` is never less than, if one is simpler than that."""
    match term:
        case ir.Load(access=ir.Access(array=cell)) if cell in state.whole.ranges:
            first, stop = state.whole.ranges[cell]
            limit, constant = linear(first if count > 0 else minus(stop, ONE))
            return added({}, limit, count), count * constant
        case ir.Apply(op=Op.FLOORDIV, args=(a, ir.Const(value=int(divisor)))) if (
            count < 0 < divisor and count % divisor == 0
        ):  # it is at most a / divisor
            limit, constant = linear(a)
            return added({}, limit, count // divisor), count // divisor * constant
        case ir.Apply(op=Op.FLOORDIV, args=(a, ir.Const(value=int(divisor)) as by)) if divisor > 0 and moves(state, a):
            end = least(state, a) if count > 0 else minus(ZERO, least(state, minus(ZERO, a)))
            return None if moves(state, end) else ({ir.Apply(Op.FLOORDIV, (end, by), loc=term.loc): count}, 0)
        case ir.Apply(op=Op.POW | Op.SHL as op, args=(ir.Const(value=int(base)) as by, a)) if base > 0 and moves(
            state, a
        ):
            end = least(state, a) if count > 0 else minus(ZERO, least(state, minus(ZERO, a)))
            if op is Op.POW and isinstance(end, ir.Const) and end.value in range(SMALL_POWER):
                return {}, count * base**end.value
            exponent = at_least_zero(end) if count < 0 else end  # the loop may not run at all
            return None if moves(state, end) else ({ir.Apply(op, (by, exponent), loc=term.loc): count}, 0)
        case ir.Apply(op=Op.POW, args=(by, a)) if count < 0 and (most := greatest_base(state, by)) and moves(state, a):
            end = minus(ZERO, least(state, minus(ZERO, a)))
            power = ir.Apply(Op.POW, (most, at_least_zero(end)), loc=term.loc)
            return None if moves(state, end) else ({power: count}, 0)
        case ir.Apply(op=Op.MOD, args=(_, ir.Const(value=int(divisor)))) if divisor > 0:
            return {}, min(count * (divisor - 1), 0)
        case _:
            return None


def greatest_base(state: State, base: ir.Expr) -> ir.Expr | None:
    """What has powers that those of `base`, which is the same everywhere and not written out, never exceed, and that
    become no less with their exponents; None for others."""
    if isinstance(base, ir.Const) or not state.is_fixed(base):
        return None
    size = base if is_nonnegative(base) else ir.Apply(Op.ABS, (base,), loc=base.loc)
    return maximum(size, ONE)


def moves(state: State, expr: ir.Expr) -> bool:
    """Whether `expr` has variables of loops around."""
    return any(e.access.array in state.whole.ranges for e in loads(expr))


SMALL_POWER = 9  # powers below are computed where they are compared
MOST_LOOKS = 200  # formulas that are looked at for one limit


# -- limits --------------------------------------------------------------------------------------------------
def limit(state: State, size: ir.Expr) -> ir.Expr | None:
    """Something that `size` never exceeds here and that is known at entry; None if nothing is, or nothing is found
    before many formulas have been looked at: those of parts of parts have ever more alternatives."""
    whole = state.whole
    if whole.looking is not None:
        whole.looking -= 1
        return limit_by_form(state, size) if whole.looking > 0 else None
    whole.looking = MOST_LOOKS
    try:
        return limit_by_form(state, size)
    finally:
        whole.looking = None


def limit_by_form(state: State, size: ir.Expr) -> ir.Expr | None:
    if state.is_fixed(size):
        return size
    if isinstance(size, ir.Apply) and size.op is Op.MUL and (joined := joined_powers(size)) != size:
        return limit(state, joined)
    match size:
        case ir.Apply(op=Op.MIN, args=args):
            return next((m for a in args if (m := limit(state, a)) is not None), None)
        case ir.Apply(op=Op.MAX, args=args):
            return greatest(state, args, size.loc)
        case ir.Select(then=then, orelse=orelse):
            return greatest(state, (then, orelse), size.loc)
        case ir.Apply(op=Op.FLOORDIV, args=(a, ir.Const(value=int(count)))) if count > 0:
            inner = limit(state, a)
            return None if inner is None else divided(inner, count)
        case ir.Apply(op=Op.FLOORDIV, args=(a, b)) if is_nonnegative_here(state, minus(b, ONE)):
            return limit_of_quotient(state, a, b)
        case ir.Apply(op=Op.MUL, args=(a, b)) if is_nonnegative_here(state, a) and is_nonnegative_here(state, b):
            most, other = limit(state, a), limit(state, b)
            return None if most is None or other is None else times(at_least_zero(most), at_least_zero(other))
        case _:
            return limit_of_sum(state, size)


def limit_of_quotient(state: State, a: ir.Expr, b: ir.Expr) -> ir.Expr | None:
    """Something that `a // b` never exceeds, where `b` is one or more: what `a` never exceeds, by the least `b`."""
    inner, by = limit(state, a), lowest(state, b)
    if inner is None:
        return None
    count = by.value if isinstance(by, ir.Const) and isinstance(by.value, int) else 1
    return divided(at_least_zero(inner), max(count, 1))


def greatest(state: State, sizes: Sequence[ir.Expr], span: Span) -> ir.Expr | None:
    """Something that none of `sizes` ever exceeds."""
    parts = [limit(state, s) for s in sizes]
    known = [p for p in parts if p is not None]
    return reduce(maximum, known) if len(known) == len(parts) else None


def limit_of_sum(state: State, size: ir.Expr) -> ir.Expr | None:
    """By the first minimum that is added, `min(i + k, n) - i <= k`, then by what loops say of their variables, and by
    each of what is the greatest of several, as in `max(i - 2, 0) + 1`."""
    if sums := sums_of_minimum(size):
        return next((m for s in sums if (m := limit(state, s)) is not None), None)
    most = minus(ZERO, least(state, minus(ZERO, size)))
    if state.is_fixed(most):
        return most
    terms, constant = linear(most)
    for term, count in terms.items():
        if count > 0 and isinstance(term, ir.Apply) and term.op is Op.MAX and not state.is_fixed(term):
            rest = from_linear({t: n for t, n in terms.items() if t != term}, constant, size.loc)
            return greatest(state, [plus(rest, times(ir.Const(count), a)) for a in term.args], size.loc)
    return None
