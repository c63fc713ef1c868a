"""Assignments: scalars, elements, tuples (all values before any store), augmented forms, accumulations."""

from __future__ import annotations

import ast

from loopdiff.errors import Span
from loopdiff.frontend.order import changes, frozen, held, in_order
from loopdiff.frontend.parse_alloc import constant_bound, is_allocation, parse_allocation
from loopdiff.frontend.parse_expr import BINARY, array_of, binary, element, parse_expr
from loopdiff.frontend.parse_state import ArrayName, LocalFunction, Outside, State, Value, Values
from loopdiff.frontend.parse_value import value_of
from loopdiff.ir.nodes import Access, Accumulate, Apply, Assign, Const, Dim, Expr, Load, RankOf, Require
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads


def parse_assign(state: State, targets: list[ast.expr], value: ast.expr, span: Span) -> None:
    """`a = b = value`: the value is computed once, targets are assigned from left to right."""
    match targets:
        case [ast.Name(id=name)] if is_allocation(state, value) and isinstance(value, ast.Call):
            parse_allocation(state, name, value)
        case [ast.Name() as target]:
            assign_value(state, target, value_of(state, value), value, span)
        case [ast.Tuple() | ast.List() as target]:
            parsed = parse_values(state, value, target)
            if parsed is None:
                forget_targets(state, target)
            else:
                assign_together(state, *matched(state, target, parsed), span)
        case [target]:
            assign(state, target, parse_expr(state, value), span)
        case _:
            held = parse_expr(state, value)
            if any(True for _ in loads(held)):
                cell = state.temporary("value", span)
                state.out.append(Assign(cell, held, loc=span))
                held = Load(cell, loc=span)
            for target in targets:
                assign(state, target, held, span)


def assign_value(state: State, target: ast.Name, value: Value | None, node: ast.expr, span: Span) -> None:
    """`target = value`: a number is stored; of anything else `target` becomes another name."""
    match value:
        case None:
            state.define(target.id, span)
        case tuple():
            count = f"{len(value)} values" if value else "nothing"
            hint = "name each value" if value else "call it on a line of its own"
            state.reject("LD107", f"`{ast.unparse(node)}` returns {count}, assigned to one name", node, hint)
            state.define(target.id, span)
        case ArrayName() | Outside() | LocalFunction():
            state.bindings[target.id] = value
        case expr:
            assign(state, target, expr, span)


def forget_targets(state: State, target: ast.expr) -> None:
    """Names in a rejected assignment count as assigned, so that one mistake is reported once."""
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            state.define(node.id, state.source.span(node))


def target_access(state: State, target: ast.expr) -> Access | None:
    """Where `target` stores; None after a rejection."""
    match target:
        case ast.Name(id=name):
            return state.define(name, state.source.span(target))
        case ast.Subscript():
            if is_whole_shape(target):
                state.reject("LD107", "a shape cannot be assigned", target)
                return None
            return element(state, target)
        case _:
            state.reject("LD107", f"cannot assign to `{ast.unparse(target)}`", target)
    return None


def is_whole_shape(target: ast.Subscript) -> bool:
    return isinstance(target.value, ast.Attribute) and target.value.attr == "shape"


def assign(state: State, target: ast.expr, value: Expr, span: Span) -> None:
    place = len(state.out)
    access = target_access(state, target)
    if access is not None:
        state.out.append(store(access, held(state, value, place), span))


# -- tuples --------------------------------------------------------------------------------------------------
def parse_values(state: State, node: ast.expr, target: ast.Tuple | ast.List) -> Values | None:
    """What `target` unpacks: a tuple written out, a shape, divmod; None after a rejection."""
    count = len(target.elts)
    match node:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            inner = target.elts if len(elts) == count else [None] * len(elts)
            targets = dict(zip(map(id, elts), inner, strict=True))
            values = in_order(state, elts, lambda s, e: value_for(s, e, targets[id(e)]))
            return None if any(v is None for v in values) else tuple(v for v in values if v is not None)
        case ast.Attribute(value=base, attr="shape") if (array := array_of(state, base)) is not None:
            return unpacked_shape(state, array, range(count), count, node)
        case ast.Subscript(value=ast.Attribute(value=base, attr="shape"), slice=ast.Slice() as part) if (
            array := array_of(state, base)
        ) is not None and (axes := sliced_axes(part, count)) is not None:
            rank = axes.stop if part.upper is None and axes.start >= 0 else None
            return unpacked_shape(state, array, axes, rank, node)
        case ast.Call(func=func, args=[a, b], keywords=[]) if state.outside(func) is divmod:
            left, right = in_order(state, (a, b), parse_expr)
            return binary(state, Op.FLOORDIV, left, right, node), binary(state, Op.MOD, left, right, node)
        case ast.Call() if (found := state.whole.call(state, node)) is None or (isinstance(found, tuple) and found):
            return found
        case _:
            message = f"`{ast.unparse(node)}` cannot be unpacked"
            state.reject("LD107", message, node, "unpack a tuple written out, or `A.shape`")
            return None


def unpacked_shape(state: State, array: str, axes: range, rank: int | None, node: ast.expr) -> Values:
    """Extents of `array` along `axes`, for which it must have `rank` axes (None: any number)."""
    span = state.source.span(node)
    if rank is not None:
        has_rank = Apply(Op.EQ, (RankOf(array, loc=span), Const(rank, loc=span)), loc=span)
        message = f"`{ast.unparse(node)}` is unpacked into {len(axes)} names"
        state.out.append(Require(has_rank, "LD207", message, loc=span))
    return tuple(Dim(array, axis, loc=span) for axis in axes)


def sliced_axes(part: ast.Slice, count: int) -> range | None:
    """The axes of `A.shape[part]` unpacked into `count` names; None unless its bounds are constants."""
    if part.step is not None:
        return None
    start, stop = (constant_bound(b) for b in (part.lower, part.upper))
    if start is None or stop is None:
        return None
    if part.upper is None:
        return range(start, 0) if start < 0 else range(start, start + count)
    return range(start, stop) if 0 <= start <= stop else None


def value_for(state: State, node: ast.expr, target: ast.expr | None) -> Value | None:
    """The value of `node`: a tuple where `target` is one, an array for a name; None after a rejection."""
    if isinstance(target, ast.Tuple | ast.List):
        return parse_values(state, node, target)
    return value_of(state, node) if isinstance(target, ast.Name) else parse_expr(state, node)


def matched(state: State, target: ast.Tuple | ast.List, values: Values) -> tuple[list[ast.expr], list[Value]]:
    """Single targets and their values, nested tuples flattened."""
    has_star = any(isinstance(t, ast.Starred) for t in target.elts)
    if len(target.elts) != len(values) or has_star:
        counts = f"{len(values)} values for {len(target.elts)} targets"
        state.reject("LD107", "`*` in a target" if has_star else counts, target, "name each value")
        forget_targets(state, target)
        return [], []
    targets: list[ast.expr] = []
    flat: list[Value] = []
    for one, value in zip(target.elts, values, strict=True):
        if isinstance(value, tuple) and isinstance(one, ast.Tuple | ast.List):
            more_targets, more_values = matched(state, one, value)
            targets += more_targets
            flat += more_values
        elif isinstance(value, tuple) or isinstance(one, ast.Tuple | ast.List):
            state.reject("LD107", "a tuple on one side only", one, "unpack it on a line of its own")
            forget_targets(state, one)
        else:
            targets.append(one)
            flat.append(value)
    return targets, flat


def assign_together(state: State, targets: list[ast.expr], values: list[Value], span: Span) -> None:
    """All values are computed before any is stored; those that would change meanwhile go through a cell."""
    written: set[str] = set()
    settled: list[Value] = []
    has_calls = any(isinstance(n, ast.Call) for t in targets for n in ast.walk(t))
    for target, value in zip(targets, values, strict=True):
        if isinstance(value, Expr) and any(has_calls or load.access.array in written for load in loads(value)):
            value = frozen(state, value, f"{stem(target)}_new")
        settled.append(value)
        written |= written_by(state, target)
    for target, value in zip(targets, settled, strict=True):
        if isinstance(value, Expr):
            assign(state, target, value, span)
        elif isinstance(value, ArrayName | Outside | LocalFunction):
            state.bindings[stem(target)] = value


def stem(target: ast.expr) -> str:
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else "value"


def written_by(state: State, target: ast.expr) -> set[str]:
    """The cell or array that an assignment to `target` changes."""
    name = stem(target)
    binding = state.binding(name)
    if isinstance(target, ast.Name):
        return {state.cells[name]} if name in state.cells else set()
    return {binding.array} if isinstance(binding, ArrayName) else set()


# -- accumulations -------------------------------------------------------------------------------------------
def parse_augmented(state: State, node: ast.AugAssign) -> None:
    """`x += e` and the other augmented assignments."""
    if type(node.op) not in BINARY:
        state.reject("LD108", "`@=` multiplies whole arrays", node, "write the sum as a loop")
        return
    match node.target:
        case ast.Name(id=name) as target:
            if array_of(state, ast.Name(name, ast.Load(), **positions(target))) is not None:
                state.reject("LD108", f"`{name}` is an array, changed as a whole", node)
                return
            old = parse_expr(state, ast.Name(name, ast.Load(), **positions(target)))
            access = state.define(name, state.source.span(target))
        case ast.Subscript() as target:
            found = element(state, target)
            if found is None:
                parse_expr(state, node.value)
                return
            parse_augmented_element(state, node, found)
            return
        case target:
            state.reject("LD107", f"cannot assign to `{ast.unparse(target)}`", target)
            return
    accumulate(state, node, access, old, parse_expr(state, node.value))


def parse_augmented_element(state: State, node: ast.AugAssign, access: Access) -> None:
    """`x[i] += e`: the old element is read before `e` is evaluated, which may change it."""
    place = len(state.out)
    value, old = parse_expr(state, node.value), Load(access, loc=access.loc)
    if changes(state.out[place:], old):
        span = state.source.span(node)
        before = held(state, old, place)
        access = Access(access.array, tuple(held(state, s, place) for s in access.subscripts), loc=access.loc)
        state.out.append(Assign(access, binary(state, BINARY[type(node.op)], before, value, node), loc=span))
    else:
        accumulate(state, node, access, old, value)


def accumulate(state: State, node: ast.AugAssign, access: Access, old: Expr, value: Expr) -> None:
    span = state.source.span(node)
    match node.op:
        case ast.Add() if not reads(value, access):
            state.out.append(Accumulate("add", access, value, loc=span))
        case ast.Sub() if not reads(value, access):
            state.out.append(Accumulate("add", access, negated(value), loc=span))
        case op:
            result = binary(state, BINARY[type(op)], old, value, node)
            state.out.append(Assign(access, result, loc=span))


def positions(node: ast.expr) -> dict[str, int]:
    names = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return {n: getattr(node, n) for n in names}


def store(access: Access, value: Expr, span: Span) -> Assign | Accumulate:
    """`x = x + e`, `x = x - e`, `x = max(x, e)` and `x = min(x, e)` accumulate; anything else is assigned."""
    match value:
        case Apply(op=(Op.ADD | Op.SUB)) if (rest := added(value, access)) is not None:
            return Accumulate("add", access, rest, loc=span)
        case Apply(op=(Op.MAX | Op.MIN) as op, args=args) if args.count(Load(access)) == 1:
            rest = tuple(a for a in args if a != Load(access))
            if not any(reads(a, access) for a in rest):
                joined = rest[0] if len(rest) == 1 else Apply(op, rest, loc=value.loc)
                return Accumulate("max" if op is Op.MAX else "min", access, joined, loc=span)
        case _:
            pass
    return Assign(access, value, loc=span)


def added(value: Expr, access: Access) -> Expr | None:
    """What `value` adds to it: `e` in `x + e`, `e + x`, `x - e`, `x + e + f`; None for other forms."""
    match value:
        case Apply(op=Op.ADD, args=(left, right)) if right == Load(access) and not reads(left, access):
            return left
        case Apply(op=(Op.ADD | Op.SUB) as op, args=(left, right)) if not reads(right, access):
            if left == Load(access):
                return right if op is Op.ADD else negated(right)
            rest = added(left, access)
            return None if rest is None else Apply(op, (rest, right), loc=value.loc)
        case _:
            return None


def negated(value: Expr) -> Expr:
    match value:
        case Const(value=number, dtype=None) if not isinstance(number, bool):
            return Const(-number, loc=value.loc)
        case _:
            return Apply(Op.NEG, (value,), loc=value.loc)


def reads(expr: Expr, access: Access) -> bool:
    return any(load.access == access for load in loads(expr))
