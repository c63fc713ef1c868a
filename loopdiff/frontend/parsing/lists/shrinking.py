"""Lists that give elements away: `v = stack.pop()` and `v = queue.pop(0)`, after which they have one element less, and
`v.clear()`, after which they have none.

What was behind the end is written over when the list grows again: whoever has a copy of it must not notice. The first
elements stay where they are: a cell says where those begin that are still in the list.
"""

from __future__ import annotations

import ast

from loopdiff.frontend.arrays.values import Quantity, View
from loopdiff.frontend.parsing.bindings import ListName
from loopdiff.frontend.parsing.lists.growing import may_change
from loopdiff.frontend.parsing.lists.lengths import first_of, list_called
from loopdiff.frontend.parsing.lists.reading import is_of_numbers
from loopdiff.frontend.parsing.order import frozen
from loopdiff.frontend.parsing.sites import Growth, ParseAgain
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.source.nodes import syntax_nodes

APART = "take elements out of a list of numbers on a line of its own: `taken = v.pop(k)`"
NUMBERS = "keep the numbers in lists, one for each place, or count the elements yourself and read `v[k]`"


def shortened(state: State, node: ast.Call) -> bool:
    """`v.pop()`, `v.pop(0)` and `v.clear()` as statements. False if `node` is something else."""
    return emptied(state, node) or popped(state, node) is not None


def popped(state: State, node: ast.Call) -> Quantity | None:
    """The value of `v.pop()` or `v.pop(0)`, and the list without it; None if `node` is something else."""
    match node:
        case ast.Call(ast.Attribute(ast.Name(id=name), "pop"), args, []) if list_called(state, name) is not None:
            pass
        case _:
            return None
    before, found = state.whole.rejected, state.settle(name, node)
    if not isinstance(found, ListName) or state.whole.rejected > before:
        return ir.Const(0)
    place = ast.unparse(args[0]) if len(args) == 1 else "-1" if not args else ""
    if place not in ("0", "-1"):
        message = f"`{ast.unparse(node)}` takes neither the first nor the last element"
        return state.reject("LD134", message, node, APART)
    if not is_of_numbers(state, found.array):
        return state.reject("LD134", f"`{name}`, which becomes shorter here, is no list of numbers", node, NUMBERS)
    if not may_change(state, found, name, node, "becomes shorter"):
        return ir.Const(0)
    return taken(state, found, node, is_first=place == "0")


def taken(state: State, found: ListName, node: ast.Call, *, is_first: bool) -> ir.Expr:
    """The first or the last number of the list, which has one element less from here on."""
    note_shrinking(state, found, is_first)
    span = state.source.span(node)
    first, end = first_of(found, span), ir.Load(ir.Access(found.count, loc=span), loc=span)
    is_any = ir.Apply(Op.GT, (end, first), loc=span)
    state.out.append(ir.Require(is_any, "LD332", f"`{ast.unparse(node)}` of a list without elements", loc=span))
    if not is_first:
        state.out.append(ir.Accumulate("add", ir.Access(found.count, loc=span), ir.Const(-1), loc=span))
    place = first if is_first else end
    number = frozen(state, ir.Load(ir.Access(found.array, (place,), loc=span), loc=span), "popped")
    if is_first and found.head is not None:
        state.out.append(ir.Accumulate("add", ir.Access(found.head, loc=span), ir.Const(1), loc=span))
    return number


def emptied(state: State, node: ast.Call) -> bool:
    """`v.clear()`. False if `node` is something else."""
    match node:
        case ast.Call(ast.Attribute(ast.Name(id=name), "clear"), [], []) if list_called(state, name) is not None:
            pass
        case _:
            return False
    before, found = state.whole.rejected, state.settle(name, node)
    if not isinstance(found, ListName) or state.whole.rejected > before:
        return True
    if not is_of_numbers(state, found.array):
        state.reject("LD134", f"`{name}`, which becomes empty here, is no list of numbers", node, NUMBERS)
    elif may_change(state, found, name, node, "becomes empty"):
        note_shrinking(state, found, is_first=False)
        for cell in (found.count, *(() if found.head is None else (found.head,))):
            span = state.source.span(node)
            state.out.append(ir.Assign(ir.Access(cell, loc=span), ir.Const(0, loc=span), loc=span))
    return True


def note_shrinking(state: State, found: ListName, is_first: bool) -> None:
    """Remember that the list gives elements away. Raises ParseAgain where it was made without a cell for the place of
    the first."""
    whole, place = state.whole, state.whole.lists[found.array].place
    growth, decided = whole.grown[place], whole.decisions.grown
    whole.grown[place] = replace(growth, shrinks=True, queue=growth.queue or is_first)
    whole.lengthened.append(whole.event(found.array))
    if is_first and found.head is None:
        known = decided.get(place, Growth(growth.first))
        whole.decisions.grown = {**decided, place: replace(known, shrinks=True, queue=True)}
        raise ParseAgain


def refuse_other_length(state: State, node: ast.AugAssign, found: object, before: int) -> None:
    """Rejection (LD134) of `v[-1] += v.pop()`: Python reads one element and stores another, or none, since it counts
    from the ends that the list has at each of both times. What happened to lists `before` is of no concern."""
    changed = {event.array for event in state.whole.lengthened[before:]}
    if isinstance(found, ir.Access | View) and found.array in changed:
        message = f"`{ast.unparse(node.target)}` is read and stored, and its list has another length when it is stored"
        state.reject("LD134", message, node, f"write {written_as_two(node)}")


def written_as_two(node: ast.AugAssign) -> str:
    """What reads an element and stores it in lines of their own; which one is asked once, as Python does."""
    target: ast.expr = node.target
    ahead = ""
    match target:
        case ast.Subscript(value=whole, slice=place) if is_computed(place):
            ahead = f"`place = {ast.unparse(place)}`, then "
            target = ast.Subscript(whole, ast.Name("place", ast.Load()), ast.Store())
        case _:
            pass
    return f"{ahead}`{ast.unparse(target)} = {ast.unparse(ast.BinOp(target, node.op, node.value))}`"


def is_computed(place: ast.expr) -> bool:
    """Whether a subscript is more than a number or a name: it may count elements."""
    return not isinstance(place, ast.Name) and any(isinstance(n, ast.Name) for n in syntax_nodes(place))
