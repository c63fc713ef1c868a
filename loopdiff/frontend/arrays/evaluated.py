"""What Python evaluates once, whether or not loops ask for it: subscripts of whole arrays and of numbers among them.

`x[k:] = y[k]` reads `y[k]` once for every element that it stores, which may be none, and `A[i]` reads nothing yet.
Python raises IndexError all the same. `passes.checks` takes these checks together with those of accesses, so that what
follows from shapes and integer arguments is asked once per call.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from loopdiff.analysis.liveness import divisions
from loopdiff.analysis.polyhedral.terms import guarded_loads
from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import ONE, ZERO, minus, plus
from loopdiff.frontend.arrays.ranges import is_nonnegative_here
from loopdiff.frontend.arrays.values import Quantity, is_array
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr


def require_in_axis(state: State, array: str, axis: int, subscript: ir.Expr, span: Span, text: str) -> None:
    """Require that Python takes `subscript` for `axis` of the memory of `array`, counted from either end."""
    size = state.extent(array, axis, span)
    low, high = ir.Apply(Op.GE, (plus(subscript, size), ZERO)), ir.Apply(Op.LT, (subscript, size))
    room = minus(minus(size, subscript), ONE)
    tests = [t for least, t in ((plus(subscript, size), low), (room, high)) if not is_nonnegative_here(state, least)]
    if not tests:
        return
    cond = tests[0] if len(tests) == 1 else ir.Apply(Op.AND, tuple(tests))
    message = f"`{text}`: the subscript is outside axis {axis} of `{array}`"
    stmt = ir.Require(cond, "LD310", message, loc=span, is_early=True)
    if stmt not in trailing(state.out):
        state.out.append(stmt)


def trailing(body: Sequence[ir.Stmt]) -> list[ir.Stmt]:
    """The checks at the end of `body`."""
    count = next((k for k, stmt in enumerate(reversed(body)) if not isinstance(stmt, ir.Require)), len(body))
    return list(body[len(body) - count :])


def require_elements(state: State, number: Quantity, node: ast.AST) -> None:
    """Require what the `number` needs where it is evaluated: elements, under the conditions on which it reads them, and
    divisors other than zero."""
    if is_array(number):
        return
    if any(True for _ in divisions(number)):  # type: ignore[arg-type]
        cell = state.temporary("quotient", state.source.span(node))
        state.out.append(ir.Assign(cell, number, loc=state.source.span(node)))  # type: ignore[arg-type]
    for load, guards in guarded_loads(number):  # type: ignore[arg-type]
        access, span = load.access, state.source.span(node)
        with state.block() as body:
            for axis, subscript in enumerate(access.subscripts):
                text = f"{access.array}[{', '.join(print_expr(s).replace('[]', '') for s in access.subscripts)}]"
                require_in_axis(state, access.array, axis, subscript, span, text)
        found = tuple(body)
        for cond, holds in reversed(guards):
            test = cond if holds else ir.Apply(Op.NOT, (cond,), loc=span)
            found = (ir.If(test, found, loc=span),) if found else ()
        state.out += found
