"""What is certain of integers because of the loops around: `i + 1 <= N - 1` in `for i in range(N - 2)`.

Whoever asks stands in those loops, where their variables are between the first and the last value.
"""

from __future__ import annotations

from loopdiff.frontend.arrays.integers import ONE, from_linear, is_nonnegative, minus
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import Sum, added, linear
from loopdiff.ir.ops import Op


def is_nonnegative_here(state: State, expr: ir.Expr) -> bool:
    """Whether `expr` is certainly not negative here."""
    return is_nonnegative(expr) or is_nonnegative(least(state, expr))


def least(state: State, expr: ir.Expr) -> ir.Expr:
    """What `expr` is never less than here, without variables of loops whose range is known."""
    terms, constant = linear(state.known(expr))
    for term, count in terms.items():
        found = limit_of(state, term, count)
        if found is not None:
            limit, offset = found
            rest = added({t: n for t, n in terms.items() if t != term}, limit, 1)
            return least(state, from_linear(rest, constant + offset, expr.loc))
    return from_linear(terms, constant, expr.loc)


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
        case _:
            return None
