"""The order in which Python evaluates: what calls write comes before the statement that the calls stand in.

An expression of the IR is evaluated where it stands, all at once. A call of a helper becomes statements in front of
it, so operands that Python evaluates before the call are held in cells if the call changes what they read, and
statements of an operand that Python may skip stand under the condition on which it does not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import require_equal, shape_text
from loopdiff.frontend.arrays.element_types import TRUTH_OPS
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import Array, ArrayValue, Choice, Quantity, View, as_array, one_of_two
from loopdiff.frontend.parsing.bindings import Rejected, Value
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import all_statements, loads, written_arrays

Parse = Callable[[State, ast.expr], ir.Expr]
COPYING = ("reshape", "ravel")  # give views where they can


V = TypeVar("V", bound=Value | None)


def in_order(state: State, nodes: Sequence[ast.expr], parse: Callable[[State, ast.expr], V]) -> list[V]:
    """Values of `nodes`, evaluated from left to right."""
    values: list[V] = []
    places: list[int] = []
    for node in nodes:
        values.append(parse(state, node))
        places.append(len(state.out))
    for k in reversed(range(len(values))):
        values[k] = held(state, values[k], places[k])
    return values


def at_once(state: State, nodes: Sequence[ast.expr], parse: Callable[[State, ast.expr], V]) -> list[V]:
    """The same of what is read here and gets no name: which of the values are copies, and which views, nobody can tell
    that does not change what they are made of."""
    place = len(state.out)
    values = in_order(state, nodes, parse)
    spans = [state.source.span(node) for node in nodes if isinstance(node, ast.Call)]
    sites = {state.site(kind, span) for span in spans for kind in COPYING}
    if any(copy.site in sites for copy in state.whole.copies):
        written = written_arrays(tuple(state.out[place:]))
        state.whole.copies[:] = [c for c in state.whole.copies if c.site not in sites or c.source in written]
    return values


def held(state: State, value: V, place: int) -> V:
    """`value` as it is at `place` in the block being written: in a cell if what follows there changes it.

    Views change with their arrays, as in Python.
    """
    if isinstance(value, tuple):
        return tuple(held(state, v, place) for v in value)  # pyright: ignore[reportReturnType]
    if not isinstance(value, ArrayValue | ir.Expr) or place == len(state.out):
        return value
    with state.block() as body:
        found = kept(state, value, written_arrays(tuple(state.opened[-1][place:])))
    state.out[place:place] = body
    return found  # pyright: ignore[reportReturnType]


def kept(state: State, value: Quantity, written: Collection[str]) -> Quantity:
    """`value` as it is now, although the arrays `written` change later: what is computed from these, in new memory."""
    match value:
        case View() | ArrayValue(memory=View()):
            return value
        case _ if not any(load.access.array in written for load in loads(as_array(value).element)):
            return value
        case ArrayValue(memory=Choice(cond=cond, then=then, orelse=orelse)):
            one, other = kept_where(state, cond, then, written), kept_where(state, otherwise(cond), orelse, written)
            return one_of_two(cond, one, other, value.element.loc)
        case ArrayValue():
            return copied_view(state, value, "held", value.element.loc)
        case _:
            cell = state.temporary("held", value.loc)
            state.out.append(ir.Assign(cell, value, loc=value.loc))
            return ir.Load(cell, loc=value.loc)


def kept_where(state: State, cond: ir.Expr, value: Array, written: Collection[str]) -> Array:
    """The same of an array that is evaluated only where `cond` holds."""
    with state.block() as body:
        found = as_array(kept(state, value, written))
    if body:
        state.out.append(ir.If(cond, tuple(body), loc=cond.loc))
    return found


def frozen(state: State, expr: ir.Expr, stem: str) -> ir.Expr:
    """`expr`, evaluated now: held in a new cell if later statements could change it."""
    known = state.known(expr)
    if not any(True for _ in loads(known)):
        return known
    cell = state.temporary(stem, expr.loc)
    state.out.append(ir.Assign(cell, known, loc=expr.loc))
    return ir.Load(cell, loc=expr.loc)


def changes(body: Sequence[ir.Stmt], value: ir.Expr) -> bool:
    written = written_arrays(tuple(body))
    return bool(written) and any(load.access.array in written for load in loads(value))


# -- operands that may be skipped ----------------------------------------------------------------------------
def alone(state: State, node: ast.expr, parse: Callable[[State, ast.expr], V]) -> tuple[V, tuple[ir.Stmt, ...]]:
    """The value of `node`, which may not be evaluated, and the statements that it takes.

    What is known about names inside is not known afterwards, but that they were rejected.
    """
    before = dict(state.bindings)
    with state.block() as body:
        value = parse(state, node)
    rejected = {n: b for n, b in state.bindings.items() if isinstance(b, Rejected) and n not in before}
    state.bindings = before | rejected
    return value, tuple(body)


def only_checks(body: tuple[ir.Stmt, ...]) -> bool:
    return all(isinstance(s, ir.Require | ir.If) for s in all_statements(body))


def lazily(
    state: State, op: Op, nodes: Sequence[ast.expr], parse: Parse, joined: Callable[[Op, list[ir.Expr], Span], ir.Expr]
) -> list[ir.Expr]:
    """Operands of `and` / `or`, each evaluated only if those before it leave the result open. None follows a truth
    value that is known and decides; known ones that do not are left out.

    `joined` gives the value of operands. Where one takes statements, it and those before it come as one operand.
    """
    parts: list[ir.Expr] = [parse(state, nodes[0])]
    for node in nodes[1:]:
        if isinstance(parts[-1], ir.Const) and isinstance(parts[-1].value, bool):
            if parts[-1].value == (op is Op.OR):
                return parts
            parts.pop()
        if not parts:
            parts.append(parse(state, node))
            continue
        value, body = alone(state, node, parse)
        if only_checks(body):
            if body:
                so_far = truth_value(op, list(parts), state.source.span(node))
                state.out.append(ir.If(is_open(op, so_far), body, loc=so_far.loc))
            parts.append(value)
            continue
        so_far = joined(op, parts, state.source.span(node))
        cell = state.temporary("value", so_far.loc)
        store = ir.Assign(cell, value, loc=value.loc)
        state.out.append(ir.Assign(cell, so_far, loc=so_far.loc))
        state.out.append(ir.If(is_open(op, ir.Load(cell, loc=so_far.loc)), (*body, store), loc=so_far.loc))
        parts = [ir.Load(cell, loc=so_far.loc)]
    return parts


def is_open(op: Op, so_far: ir.Expr) -> ir.Expr:
    return so_far if op is Op.AND else otherwise(so_far)


def otherwise(cond: ir.Expr) -> ir.Expr:
    return ir.Apply(Op.NOT, (cond,), loc=cond.loc)


def either(state: State, cond: ir.Expr, body: ast.expr, orelse: ast.expr, node: ast.expr) -> Quantity:
    """`body if cond else orelse`."""
    span = state.source.span(node)
    then, then_body = alone(state, body, State.quantity)
    other, other_body = alone(state, orelse, State.quantity)
    if isinstance(then, View | ArrayValue) or isinstance(other, View | ArrayValue):
        return one_of(state, cond, (then, then_body), (other, other_body), node)
    if only_checks((*then_body, *other_body)):
        if then_body:
            state.out.append(ir.If(cond, then_body, loc=cond.loc))
        if other_body:
            state.out.append(ir.If(otherwise(cond), other_body, loc=cond.loc))
        return ir.Select(cond, then, other, loc=span)
    cell = state.temporary("value", span)
    then_body = (*then_body, ir.Assign(cell, then, loc=then.loc))
    other_body = (*other_body, ir.Assign(cell, other, loc=other.loc))
    state.out.append(ir.If(cond, then_body, other_body, loc=cond.loc))
    return ir.Load(cell, loc=span)


def one_of(
    state: State,
    cond: ir.Expr,
    then: tuple[Quantity, tuple[ir.Stmt, ...]],
    orelse: tuple[Quantity, tuple[ir.Stmt, ...]],
    node: ast.expr,
) -> Quantity:
    """`then if cond else orelse`, two arrays of one shape, each with the statements that it takes."""
    span = state.source.span(node)
    held_cond = frozen(state, cond, "choice")
    if then[1] or orelse[1]:
        state.out.append(ir.If(held_cond, then[1], orelse[1], loc=cond.loc))
    a, b = as_array(then[0]), as_array(orelse[0])
    for one, other in zip(a.extents, b.extents, strict=False):
        shapes = f"{shape_text(a.extents)} and {shape_text(b.extents)}"
        require_equal(state, other, one, f"the shapes {shapes} of a conditional expression differ", span)
    if a.rank != b.rank:
        message = "the two arrays of a conditional expression must have one shape"
        return state.reject("LD108", message, node, "use an `if` statement for each of the shapes")
    return one_of_two(held_cond, a, b, span)


Test = Callable[[ast.cmpop, ir.Expr, ir.Expr], ir.Expr]


def chain(
    state: State, left: ir.Expr, ops: list[ast.cmpop], nodes: list[ast.expr], parse: Parse, test: Test
) -> ir.Expr:
    """`left op node op node ...`: each `node` after the first is evaluated only if the tests before it hold."""
    place = len(state.out)
    right = parse(state, nodes[0])
    left = held(state, left, place)
    tests = [test(ops[0], left, right)]
    for k in range(1, len(nodes)):
        value, body = alone(state, nodes[k], parse)
        so_far = all_of(tests)
        if only_checks(body):
            if body:
                state.out.append(ir.If(so_far, body, loc=so_far.loc))
            tests.append(test(ops[k], right, value))
            right = value
            continue
        cell = state.temporary("value", so_far.loc)
        state.out.append(ir.Assign(cell, so_far, loc=so_far.loc))
        with state.block() as inner:
            rest = chain(state, right, ops[k:], nodes[k:], parse, test)
            state.out.append(ir.Assign(cell, rest, loc=rest.loc))
        state.out.append(ir.If(ir.Load(cell, loc=so_far.loc), tuple(inner), loc=so_far.loc))
        return ir.Load(cell, loc=so_far.loc)
    return all_of(tests)


def all_of(tests: list[ir.Expr]) -> ir.Expr:
    return tests[0] if len(tests) == 1 else truth_value(Op.AND, list(tests), tests[0].loc)


# -- truth values --------------------------------------------------------------------------------------------
def boolean(op: Op, parts: list[ir.Expr], span: Span) -> ir.Expr:
    """`and` / `or`: a truth value if all operands are, otherwise the operand that Python would return."""
    if all(is_truth(p) for p in parts):
        return truth_value(op, parts, span)
    result = parts[-1]
    for part in reversed(parts[:-1]):
        result = ir.Select(part, part, result, loc=span) if op is Op.OR else ir.Select(part, result, part, loc=span)
    return result


def truth_value(op: Op, parts: list[ir.Expr], span: Span) -> ir.Expr:
    """`and` / `or` of operands of which only the truth matters, decided if all are constants."""
    constants = [bool(p.value) for p in parts if isinstance(p, ir.Const)]
    if len(constants) == len(parts):
        return ir.Const(all(constants) if op is Op.AND else any(constants), loc=span)
    return parts[0] if len(parts) == 1 else ir.Apply(op, tuple(parts), loc=span)


def is_truth(expr: ir.Expr) -> bool:
    match expr:
        case ir.Const(value=bool()):
            return True
        case ir.Apply(op=op):
            return op in TRUTH_OPS
        case _:
            return False
