"""Lists that give elements away: `v = stack.pop()`, the last number of a list, which has one element less from then on.

What was behind the end is written over when the list grows again: whoever has a copy of it must not notice.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from loopdiff.frontend.arrays.integers import ZERO
from loopdiff.frontend.parsing.bindings import ListName
from loopdiff.frontend.parsing.lists.growing import may_change
from loopdiff.frontend.parsing.lists.lengths import list_called
from loopdiff.frontend.parsing.lists.reading import is_of_numbers
from loopdiff.frontend.parsing.order import frozen
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op

NUMBERS = "keep the numbers in lists, one for each place, or read `v[-1]` and count the elements yourself"


def popped(state: State, node: ast.Call) -> ir.Expr | None:
    """The value of `v.pop()`, and the list without it; None if `node` is something else."""
    match node:
        case ast.Call(ast.Attribute(ast.Name(id=name), "pop"), args, []) if list_called(state, name) is not None:
            pass
        case _:
            return None
    before, found = state.whole.rejected, state.settle(name, node)
    if not isinstance(found, ListName) or state.whole.rejected > before:
        return ir.Const(0)
    if args and not all(is_last(a) for a in args):
        return state.reject("LD134", f"`{ast.unparse(node)}` takes another element than the last", node, NUMBERS)
    if not is_of_numbers(state, found.array):
        return state.reject("LD134", f"`{name}`, which becomes shorter here, is no list of numbers", node, NUMBERS)
    return taken(state, found, name, node)


def is_last(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and ast.unparse(node.operand) == "1"


def taken(state: State, found: ListName, name: str, node: ast.Call) -> ir.Expr:
    """The last number of the list, which has one element less from here on."""
    if not may_change(state, found, name, node, "becomes shorter"):
        return ir.Const(0)
    whole, span = state.whole, state.source.span(node)
    place = whole.lists[found.array].place
    whole.grown[place] = replace(whole.grown[place], shrinks=True)
    whole.lengthened.append(whole.event(found.array))
    count = ir.Access(found.count, loc=span)
    length = ir.Load(count, loc=span)
    is_any = ir.Apply(Op.GT, (length, ZERO), loc=span)
    state.out.append(ir.Require(is_any, "LD332", f"`{ast.unparse(node)}` of a list without elements", loc=span))
    state.out.append(ir.Accumulate("add", count, ir.Const(-1), loc=span))
    return frozen(state, ir.Load(ir.Access(found.array, (length,), loc=span), loc=span), "popped")
