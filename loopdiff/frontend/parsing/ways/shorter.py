"""Loops that go on while arrays have elements, and take some away each time: `while len(a) > 0: ...; a = a[1:]`.

Such a loop runs at most as often as the arrays had elements before it, all together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import reduce

from loopdiff.frontend.arrays.integers import at_least_zero, plus
from loopdiff.frontend.arrays.ranges import limit
from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.parsing.bindings import ArrayName
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.joins import view_of
from loopdiff.ir import nodes as ir
from loopdiff.source.nodes import syntax_nodes


def trips_of_shorter(state: State, node: ast.While) -> ir.Expr | None:
    """How often the loop runs at most, known at entry; None if it is none of these."""
    names = frozenset(nonempty_in(state, node.test))
    if not names or not is_shorter_after(node.body, names) or not are_only_made_shorter(node, names):
        return None
    bindings = [b for name in sorted(names) if isinstance(b := state.bindings.get(name), ArrayName | View)]
    views = [view_of(state, binding, state.source.span(node)) for binding in bindings]
    limits = [limit(state, state.known(v.extents[0])) for v in views if v is not None and v.rank]
    known = [at_least_zero(m) for m in limits if m is not None]
    return reduce(plus, known) if len(known) == len(names) else None


def nonempty_in(state: State, test: ast.expr) -> Iterator[str]:
    """Names of arrays that have elements where `test` holds, as of `len(a) > 0 and len(b)`."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            for value in values:
                yield from nonempty_in(state, value)
        case ast.Compare(left=size, ops=[ast.Gt() | ast.GtE() as op], comparators=[ast.Constant(value=int(least))]):
            if least >= isinstance(op, ast.GtE):
                yield from nonempty_in(state, size)
        case ast.Call(func=ast.Name() as called, args=[ast.Name(id=name)]) if state.outside(called) is len:
            yield name
        case _:
            pass


def is_shorter_after(body: Sequence[ast.stmt], names: frozenset[str]) -> bool:
    """Whether every way through `body` to the next iteration takes elements away from one of `names`."""
    return all(ways_through(body, names))


def ways_through(body: Sequence[ast.stmt], names: frozenset[str]) -> tuple[bool, bool]:
    """Whether every `continue` in `body` comes after elements were taken away, and whether its end does."""
    for stmt in body:
        match stmt:
            case ast.Break() | ast.Return() | ast.Raise():
                return True, True
            case ast.Continue():
                return False, True
            case ast.Assign() if any(name in names for name in made_shorter(stmt)):
                return True, True
            case ast.If(body=then, orelse=orelse):
                (is_kept, is_taken), (is_also_kept, is_also_taken) = (ways_through(b, names) for b in (then, orelse))
                if not (is_kept and is_also_kept) or (is_taken and is_also_taken):
                    return is_kept and is_also_kept, True
            case _:
                pass
    return True, False


def are_only_made_shorter(node: ast.While, names: frozenset[str]) -> bool:
    """Whether the loop gives `names` nothing but parts of their arrays."""
    inside = [n for stmt in (node.test, *node.body) for n in syntax_nodes(stmt)]
    stored = [n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and n.id in names]
    shorter = [name for n in inside if isinstance(n, ast.Assign) for name in made_shorter(n) if name in names]
    return len(stored) == len(shorter)


def made_shorter(node: ast.Assign) -> Iterator[str]:
    """The names that get what they stand for without its first or last elements, as in `a, v = a[1:], a[0]`."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            pairs = list(zip(targets, values, strict=True))
        case ast.Assign(targets=[target], value=value):
            pairs = [(target, value)]
        case _:
            return
    for target, value in pairs:
        match target, value:
            case ast.Name(id=name), ast.Subscript(value=ast.Name(id=own), slice=ast.Slice(step=None) as part) if (
                own == name and leaves_out(part)
            ):
                yield name
            case _:
                pass


def leaves_out(part: ast.Slice) -> bool:
    """Whether a slice leaves out elements at the start, or the end, of what has any."""
    match part:
        case ast.Slice(lower=ast.Constant(value=int(count)), upper=None) if count > 0:
            return True
        case ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(count)))):
            return count > 0
        case _:
            return False
