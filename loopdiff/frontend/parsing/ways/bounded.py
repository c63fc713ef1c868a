"""Integers that stay within what is known at entry, because of what a loop does with them: `n //= 2` makes them smaller
only, and `while size <= n` goes on only with those."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from loopdiff.frontend.arrays.element_types import kind_so_far
from loopdiff.frontend.arrays.integers import (
    ONE,
    ZERO,
    at_least_zero,
    divided,
    is_nonnegative,
    maximum,
    minimum,
    minus,
    plus,
)
from loopdiff.frontend.arrays.ranges import keep_range, least, moves
from loopdiff.frontend.binding.types import Kind
from loopdiff.frontend.parsing.bindings import Cell, ListName
from loopdiff.frontend.parsing.iterations import Trips
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import from_linear, linear
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import subexprs, written_arrays
from loopdiff.source.nodes import syntax_nodes

Loop = ast.For | ast.While
Ranges = dict[str, tuple[ir.Expr, ir.Expr]]
Stores = Mapping[str, list[ast.expr | None]]


def ranges_made_smaller(state: State, node: Loop) -> Ranges:
    """Of integers that the loop divides, and does nothing else with, what they are at least, and less than.

    They begin before the loop with what is known here, and stay between that and zero.
    """
    stores, found = stores_in(node.body), Ranges()
    for name, values in stores.items():
        start = start_of(state, name)
        if start is None or not are_smaller(values, smaller_than(state, name, stores)):
            continue
        found[state.cells[name]] = minimum(start[0], ZERO), plus(maximum(start[1], ZERO), ONE)
    return found


def ranges_of_condition(state: State, cond: ir.Expr, larger: Ranges, smaller: Ranges) -> Ranges:
    """What holds while the condition does: of integers that the loop only makes larger, and that begin in `larger`, or
    that are `smaller` than before."""
    found = Ranges()
    for low, high in ordered_pairs(cond):
        for cell, most in largest_where(low, high, larger):
            limit = minus(ZERO, least(state, minus(ZERO, most)))
            if state.is_fixed(limit):
                found[cell] = larger[cell][0], plus(limit, ONE)
        match high:
            case ir.Load(access=ir.Access(array=cell, subscripts=())) if cell in smaller:
                if state.is_fixed(limit := least(state, low)):
                    found[cell] = limit, smaller[cell][1]
            case _:
                pass
    return found


def most_trips(state: State, node: ast.While, cond: ir.Expr, larger: Ranges) -> ir.Expr | None:
    """How often the loop runs at most, known at entry: as long as the condition holds of an integer that each iteration
    makes larger, which begins in `larger`, or of how many elements a list has that each appends to. None if nothing
    says that."""
    counters = {
        state.cells[n]: larger[state.cells[n]][0] for n in counters_in(node.body) if state.cells.get(n) in larger
    }
    lists = {b.count: ZERO for n in lengthened_in(node.body) if isinstance(b := state.bindings.get(n), ListName)}
    starts = counters | lists
    for low, high in ordered_pairs(cond):
        match copied_from(state, low):
            case ir.Load(access=ir.Access(array=cell, subscripts=())) if cell in starts:
                trips = plus(minus(minus(ZERO, least(state, minus(ZERO, high))), starts[cell]), ONE)
                if state.is_fixed(trips) and is_integer(state, trips):
                    return at_least_zero(trips)
            case _:
                pass
    return None


def copied_from(state: State, value: ir.Expr) -> ir.Expr:
    """`value`, or that of the cell of which it is a copy here."""
    copies = {s.target: s.value for s in state.out if isinstance(s, ir.Assign) and isinstance(s.value, ir.Load)}
    found = copies.get(value.access) if isinstance(value, ir.Load) else None
    return value if found is None else copied_from(state, found)


def is_integer(state: State, expr: ir.Expr) -> bool:
    return state.types is not None and kind_so_far(state, expr) <= Kind.INT


def counters_in(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Integers that every iteration that goes on makes larger."""
    for stmt in until_continued(body):
        match stmt:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value) if is_count(value, 1):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(ast.Name(id=own), ast.Add(), value)) if (
                own == name and is_count(value, 1)
            ):
                yield name
            case _:
                pass


def lengthened_in(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Lists that every iteration that goes on appends to, where none gives elements away."""
    inside = [n for stmt in body for n in syntax_nodes(stmt)]
    if any(isinstance(n, ast.Attribute) and n.attr == "pop" for n in inside):
        return
    for stmt in until_continued(body):
        match stmt:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "append"), [_], [])):
                yield name
            case _:
                pass


def until_continued(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of `body` that every iteration comes to that goes on."""
    for stmt in body:
        if any(isinstance(n, ast.Continue) for n in syntax_nodes(stmt)):
            return
        yield stmt


def starts_of_larger(state: State, node: ast.While) -> Ranges:
    """Of integers that the loop only makes larger, what they are before it."""
    found = Ranges()
    for name, values in stores_in(node.body).items():
        start = start_of(state, name)
        if start is not None and is_nonnegative(start[0]) and all(v is not None and is_larger(v, name) for v in values):
            found[state.cells[name]] = start
    return found


def largest_where(low: ir.Expr, high: ir.Expr, larger: Ranges) -> Iterator[tuple[str, ir.Expr]]:
    """What integers among `larger` are at most where `low <= high`: `m <= n // 2` where `2 * m <= n`."""
    terms, constant = linear(minus(high, low))
    for term, count in terms.items():
        match term:
            case ir.Load(access=ir.Access(array=cell, subscripts=())) if cell in larger and count < 0:
                rest = from_linear({t: n for t, n in terms.items() if t != term}, constant, high.loc)
                yield cell, divided(rest, -count)
            case _:
                pass


@contextmanager
def known_ranges(state: State, ranges: Ranges) -> Iterator[None]:
    """Inside, cells stay in their `ranges`."""
    before = {cell: state.whole.ranges.get(cell) for cell in ranges}
    state.whole.ranges |= ranges
    yield
    for cell, known in before.items():
        state.whole.ranges.pop(cell, None)
        if known is not None:
            state.whole.ranges[cell] = known


@contextmanager
def counted(state: State, trips: Trips) -> Iterator[None]:
    """Inside a loop that runs so often."""
    state.whole.trips.append(trips)
    yield
    state.whole.trips.pop()


def until_stored(state: State, body: Sequence[ast.stmt], ranges: Ranges) -> int:
    """How many statements of `body` come before the first that stores in one of the cells of `ranges`."""
    names = {name for name, cell in state.cells.items() if cell in ranges}
    return next((k for k, stmt in enumerate(body) if names & stores_in([stmt]).keys()), len(body))


# -- numbers -------------------------------------------------------------------------------------------------
def note_number(state: State, access: ir.Access, value: ir.Expr, is_only: bool) -> None:
    """Remember what is known of a cell: its value, if that is known at entry and the only one, and whether it may turn
    out to be an array.
    """
    known = state.known(value)
    if is_only and state.is_fixed(known):
        state.whole.fixed[access.array] = known
    elif is_only and moves(state, known):
        keep_range(state, access.array, known)
    note_undecided(state, access, value)


def note_undecided(state: State, access: ir.Access, value: ir.Expr) -> None:
    if state.types is None and any(isinstance(e, ir.Param | ir.Load) for e in subexprs(value)):
        state.whole.undecided.add(access.array)


# -- what is stored ------------------------------------------------------------------------------------------
def stores_in(body: Sequence[ast.stmt]) -> dict[str, list[ast.expr | None]]:
    """What statements store in each name; None for what is not one expression."""
    found: dict[str, list[ast.expr | None]] = {}
    told = set[ast.AST]()
    for node in (n for stmt in body for n in syntax_nodes(stmt)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                told.add(target)
                found.setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                told.add(target)
                found.setdefault(name, []).append(ast.BinOp(ast.Name(name, ast.Load()), op, value))
            case ast.Name(id=name, ctx=ast.Store()) if node not in told:
                found.setdefault(name, []).append(None)
            case _:
                pass
    return found


def start_of(state: State, name: str) -> tuple[ir.Expr, ir.Expr] | None:
    """What the integer `name` is here, at least and at most, in what is known at entry; None if nothing is."""
    binding = state.bindings.get(name)
    if not isinstance(binding, Cell) or binding.cell != state.cells.get(name):
        return None
    last = next((s for s in reversed(state.out) if binding.cell in written_arrays((s,))), None)
    if not isinstance(last, ir.Assign):
        return None
    lower, upper = least(state, last.value), minus(ZERO, least(state, minus(ZERO, last.value)))
    return (lower, upper) if state.is_fixed(lower) and state.is_fixed(upper) else None


def smaller_than(state: State, name: str, stores: Stores) -> frozenset[str]:
    """`name`, and names that exist in the loop only and are never further from zero."""
    found = frozenset((name,))
    own = {n: values for n, values in stores.items() if n not in state.bindings}
    while more := {n for n, values in own.items() if are_smaller(values, found)} - found:
        found |= more
    return found


def are_smaller(values: Sequence[ast.expr | None], names: frozenset[str]) -> bool:
    return all(v is not None and is_smaller(v, names) for v in values)


def is_smaller(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether an integer lies between zero and one of `names`."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.BinOp(left=ast.BinOp(left=inner, op=ast.Add(), right=ast.Constant(value=1)), op=ast.FloorDiv()):
            return is_count(node.right, 2) and is_smaller(inner, names)
        case ast.BinOp(left=inner, op=ast.FloorDiv(), right=right):
            return is_count(right, 1) and is_smaller(inner, names)
        case ast.BinOp(left=inner, op=ast.RShift(), right=right):
            return is_count(right, 0) and is_smaller(inner, names)
        case _:
            return False


def is_larger(node: ast.expr, name: str) -> bool:
    """Whether an integer is never less than `name`, which is not negative."""
    match node:
        case ast.Name(id=own):
            return own == name
        case ast.BinOp(left=inner, op=ast.Mult(), right=right) if is_count(right, 1):
            return is_larger(inner, name)
        case ast.BinOp(left=left, op=ast.Mult(), right=inner) if is_count(left, 1):
            return is_larger(inner, name)
        case ast.BinOp(left=inner, op=ast.Add() | ast.LShift(), right=right):
            return is_count(right, 0) and is_larger(inner, name)
        case _:
            return False


def is_count(node: ast.expr, least_of_all: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= least_of_all


def ordered_pairs(cond: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """Pairs of which the first is at most the second where `cond` holds."""
    match cond:
        case ir.Apply(op=Op.AND, args=args):
            for arg in args:
                yield from ordered_pairs(arg)
        case ir.Apply(op=Op.LE, args=(a, b)) | ir.Apply(op=Op.GE, args=(b, a)):
            yield a, b
        case ir.Apply(op=Op.LT, args=(a, b)) | ir.Apply(op=Op.GT, args=(b, a)):
            yield a, minus(b, ONE)
        case _:
            pass
