"""Assignments: scalars, elements, arrays, tuples (all values before any store), augmented forms."""

from __future__ import annotations

import ast

from loopdiff.errors import Span
from loopdiff.frontend.arrays.allocation import is_allocation, parse_allocation
from loopdiff.frontend.arrays.constructions import array_like
from loopdiff.frontend.arrays.element_types import dtype_of, is_widened
from loopdiff.frontend.arrays.indexing import Masked, scattered, store_masked
from loopdiff.frontend.arrays.nests import copied_view, store_array
from loopdiff.frontend.arrays.shapes import array_extents, constant_bound, may_be_array, shaped
from loopdiff.frontend.arrays.subscripts import target_of
from loopdiff.frontend.arrays.values import ArrayValue, Quantity, View, as_array, is_array
from loopdiff.frontend.arrays.views import bind_view, steady
from loopdiff.frontend.parsing.accumulations import negated_term, stores
from loopdiff.frontend.parsing.bindings import (
    AnyList,
    ArrayName,
    ListName,
    ListRow,
    LocalFunction,
    Outside,
    Record,
    Rejected,
    Value,
    Values,
    Varying,
)
from loopdiff.frontend.parsing.boxes import note_changed, note_element_view
from loopdiff.frontend.parsing.calling.calls import field_at, grid_call, one_of
from loopdiff.frontend.parsing.expressions import binary_operation
from loopdiff.frontend.parsing.lists.growing import append, begins_list, new_list
from loopdiff.frontend.parsing.lists.items import kind_after, note_stored
from loopdiff.frontend.parsing.lists.reading import elements_of
from loopdiff.frontend.parsing.lists.replacing import in_place, replace_items
from loopdiff.frontend.parsing.lists.rests import star_of, with_parts
from loopdiff.frontend.parsing.lists.shrinking import refuse_other_length
from loopdiff.frontend.parsing.meanings import value_of
from loopdiff.frontend.parsing.number_like import like_number
from loopdiff.frontend.parsing.order import at_once, changes, frozen, held, in_order
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.bounded import note_number, note_undecided
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads, reads
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.records import FieldTargets

RECORD_HINT = "ask the name for fields only, or unpack it at once"
Target = ir.Access | View | ArrayValue | Masked
Unpacked = ast.Tuple | ast.List  # names and elements that take what is unpacked


def parse_assign(state: State, targets: list[ast.expr], value: ast.expr, span: Span) -> None:
    """`a = b = value`: the value is computed once, targets are assigned from left to right."""
    match targets:
        case [target] if replace_items(state, target, value):
            return
        case [ast.Name() as target] if (number := like_number(state, value)) is not None:
            assign_value(state, target, number, value, span)
        case [ast.Name(id=name)] if is_allocation(state, value) and isinstance(value, ast.Call):
            parse_allocation(state, name, value)
        case [ast.Name(id=name) as target] if begins_list(value, state, name):
            assign_value(state, target, new_list(state, name, value), value, span)
        case [ast.Name() as target]:
            assign_value(state, target, value_of(state, value), value, span)
        case [ast.Tuple() | ast.List() as target]:
            unpack(state, target, value, span)
        case [ast.Subscript() as target]:
            assign(state, target, at_once(state, [value], array_like)[0], span)
        case [target]:
            assign(state, target, state.quantity(value), span)
        case _:
            found = state.quantity(value)
            if is_array(found) and state.owned(found, value):
                assign_to_all(state, targets, as_array(found), span)
                return
            if not is_array(found):
                found = frozen(state, found, "value")  # type: ignore[arg-type]
            for target in targets:
                assign(state, target, found, span)


def assign_value(state: State, target: ast.Name, value: Value | None, node: ast.expr, span: Span) -> None:
    """`target = value`: a number is stored; of anything else `target` becomes a name."""
    match value:
        case None:
            state.forget(target)
        case tuple():
            count = f"{len(value)} values" if value else "nothing"
            hint = "name each value" if value else "call it on a line of its own"
            if isinstance(value, Record):
                count, hint = "a named tuple", RECORD_HINT
            state.reject("LD107", f"`{ast.unparse(node)}` returns {count}, assigned to one name", node, hint)
            state.forget(target)
        case ListRow(view=view):
            state.bindings[target.id] = ListRow(steady(state, view))
        case ArrayName() | ListName() | Varying() | Outside() | LocalFunction():
            state.bindings[target.id] = value
        case quantity if state.owned(quantity, node) and not state.is_rejected(node):
            note_element_view(state, target, quantity, node)
            assign_name(state, target, quantity, span)
        case _:
            state.forget(target)


def assign_to_all(state: State, targets: list[ast.expr], value: View | ArrayValue, span: Span) -> None:
    """`a = b[:] = array`: one array for all of them."""
    names = [t.id for t in targets if isinstance(t, ast.Name)]
    view = value if isinstance(value, View) else copied_view(state, value, names[0] if names else "value", span)
    for target in targets:
        assign(state, target, view, span)


def target_access(state: State, target: ast.expr) -> Target | None:
    """Where `target`, which is no name, stores; None after a rejection."""
    match target:
        case ast.Subscript():
            if not (isinstance(target.value, ast.Attribute) and target.value.attr == "shape"):
                return target_of(state, target)
            state.reject("LD107", "a shape cannot be assigned", target)
        case _:
            state.reject("LD107", f"cannot assign to `{ast.unparse(target)}`", target)
    return None


def assign(state: State, target: ast.expr, value: Quantity, span: Span) -> None:
    if isinstance(target, ast.Name):
        assign_name(state, target, value, span)
        return
    place = len(state.out)
    found = target_access(state, target)
    if found is not None:
        store_into(state, found, held(state, value, place), target, span)


def store_into(state: State, place: Target, value: Quantity, target: ast.expr, span: Span) -> None:
    match place:
        case ir.Access() if isinstance(value, View | ArrayValue):
            message = f"an array is assigned to the element `{ast.unparse(target)}`"
            state.reject("LD121", message, target, "reduce it, or take one of its elements")
        case ir.Access():
            number = state.as_number(value, target)
            if place.array in state.whole.lists:
                note_stored(state, place.array, number, target)
            state.out += stores(place, number, span)
        case View():
            store_array(state, place, value, target)
        case ArrayValue():
            scattered(state, place, value, target)
        case Masked():
            store_masked(state, place, value, target)


def assign_name(state: State, target: ast.Name, value: Quantity, span: Span) -> None:
    """A cell for a number; a name for a view; a new array, and a name for it, for a computed one."""
    name = target.id
    match value:
        case View():
            bind_view(state, name, value, span)
        case ArrayValue():
            bind_view(state, name, copied_view(state, value, name, span), span)
        case number:
            access = state.define(name, state.source.span(target))
            state.out += stores(access, number, span)
            is_only = state.survey.stores[name] == 1 and name not in state.survey.parameters
            note_number(state, access, number, is_only)


def unpack(state: State, target: Unpacked, value: ast.expr, span: Span) -> None:
    """`a, b = value`, or `first, *rest = value` of what is not written out."""
    star = None if isinstance(value, Unpacked) else star_of(target)
    parts = None if star is None else with_parts(state, target, star, value_of(state, value), value)
    if parts is not None:
        parse_assign(state, [parts[0]], parts[1], span)
        return
    parsed = parse_values(state, value, target) if star is None else None
    if parsed is None:
        state.forget(target)
    else:
        assign_together(state, *matched(state, target, parsed), span)


# -- tuples --------------------------------------------------------------------------------------------------
def parse_values(state: State, node: ast.expr, target: Unpacked, is_late: bool = False) -> Values | None:
    """What `target` unpacks: a tuple written out, a shape, divmod, an array; None after a rejection.

    `is_late`: Python stores elements of arrays before it unpacks this.
    """
    count, node = len(target.elts), grid_call(state, node) or node
    match node:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            inner = target.elts if len(elts) == count else [None] * len(elts)
            late = [is_late or any(stores_elements(t) for t in inner[:k]) for k in range(len(elts))]
            targets = {id(e): pair for e, pair in zip(elts, zip(inner, late, strict=True), strict=True)}
            values = in_order(state, elts, lambda s, e: value_for(s, e, *targets[id(e)]))
            return None if any(v is None for v in values) else tuple(v for v in values if v is not None)
        case ast.Attribute(value=base, attr="shape") if (array := shaped(state, base)) is not None:
            return unpacked_shape(state, array, range(count), count, node)
        case ast.Subscript(value=ast.Attribute(value=base, attr="shape"), slice=ast.Slice() as part) if (
            array := shaped(state, base)
        ) is not None and (axes := sliced_axes(part, count)) is not None:
            rank = axes.stop if part.upper is None and axes.start >= 0 else None
            return unpacked_shape(state, array, axes, rank, node)
        case ast.Call(func=func, args=[row], keywords=[]) if any(state.outside(func) is k for k in (tuple, list)):
            return parse_values(state, row, target, is_late)
        case ast.Call():
            found = value_of(state, node)
            if found is None or (isinstance(found, tuple) and found):
                return found
            return elements(state, found, node, target, is_late)
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Slice()):
            return elements(state, None, node, target, is_late)
        case _:
            if may_be_array(state, node):
                state.need_types()
            return elements(state, value_of(state, node), node, target, is_late)


def stores_elements(target: ast.expr | None) -> bool:
    """Whether assigning to `target` writes to arrays."""
    return target is not None and any(isinstance(n, ast.Subscript | ast.Attribute) for n in syntax_nodes(target))


def elements(
    state: State, value: Value | None, node: ast.expr, target: Unpacked, is_late: bool = False
) -> Values | None:  # fmt: skip
    """The elements, or rows, of an array, which must be as many as `target` has names. They are read here: what
    `is_late`, and may have been written to before Python reads it, is rejected."""
    if isinstance(value, AnyList):
        value = elements_of(state, value, state.source.span(node))
    if isinstance(value, tuple | Outside | LocalFunction | None) or not (
        is_array(value) or isinstance(value, ArrayName)
    ):
        message = f"`{ast.unparse(node)}` cannot be unpacked"
        state.reject("LD107", message, node, "unpack a tuple written out, an array or `A.shape`")
        return None
    if is_late:
        message = f"`{ast.unparse(node)}` is unpacked after elements of arrays were stored"
        state.reject("LD107", message, node, "unpack it on a line of its own")
        return None
    span, count = state.source.span(node), len(target.elts)
    (own,) = state.fresh_names("unpacked")
    name = ast.copy_location(ast.Name(own, ast.Store()), node)
    assign_value(state, name, value, node, span)
    array = shaped(state, name)
    if array is None:
        return None
    are_as_many = ir.Apply(Op.EQ, (array_extents(state, array, span)[0], ir.Const(count, loc=span)), loc=span)
    message = f"{count} names take the elements of an array with another number of them"
    state.out.append(ir.Require(are_as_many, "LD207", message, loc=span))
    parts: list[ast.expr] = [ast.Subscript(name, ast.Constant(k), ast.Load()) for k in range(count)]
    written = ast.copy_location(ast.Tuple(parts, ast.Load()), node)
    found = parse_values(state, ast.fix_missing_locations(written), target)
    del state.bindings[name.id]
    return found


def unpacked_shape(
    state: State, array: str | View | ArrayValue, axes: range, rank: int | None, node: ast.expr
) -> Values | None:
    """Extents of `array` along `axes`, for which it must have `rank` axes (None: any number)."""
    span = state.source.span(node)
    if not isinstance(array, str):
        extents = array_extents(state, array, span)
        if (rank is not None and rank != len(extents)) or not all(-len(extents) <= k < len(extents) for k in axes):
            state.reject("LD207", f"`{ast.unparse(node)}` is unpacked into {len(axes)} names", node)
            return None
        return tuple(extents[k] for k in axes)
    if rank is not None:
        has_rank = ir.Apply(Op.EQ, (ir.RankOf(array, loc=span), ir.Const(rank, loc=span)), loc=span)
        message = f"`{ast.unparse(node)}` is unpacked into {len(axes)} names"
        state.out.append(ir.Require(has_rank, "LD207", message, loc=span))
    return tuple(state.dim(array, axis, span) for axis in axes)


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


def value_for(state: State, node: ast.expr, target: ast.expr | None, is_late: bool) -> Value | None:
    """The value of `node`: a tuple where `target` is one, an array for a name; None after a rejection."""
    if isinstance(target, ast.Tuple | ast.List):
        return parse_values(state, node, target, is_late)
    if not isinstance(target, ast.Name):
        return state.quantity(node)
    value = new_list(state, target.id, node) if begins_list(node, state, target.id) else value_of(state, node)
    return value if state.owned(value, node) and not state.is_rejected(node) else None


def matched(
    state: State, target: Unpacked, values: Values, is_late: bool = False
) -> tuple[list[ast.expr], list[Value]]:  # fmt: skip
    """Single targets and their values, nested tuples flattened."""
    if isinstance(target, FieldTargets):
        found = picked(state, target, values)
        if found is None:
            state.forget(target)
            return [], []
        values = found
    has_star = any(isinstance(t, ast.Starred) for t in target.elts)
    if len(target.elts) != len(values) or has_star:
        counts = f"{len(values)} values for {len(target.elts)} targets"
        hint = "take the part: `first, rest = x[0], x[1:]`" if has_star else "name each value"
        state.reject("LD107", "`*` in a target" if has_star else counts, target, hint)
        state.forget(target)
        return [], []
    targets: list[ast.expr] = []
    flat: list[Value] = []
    for k, (one, given) in enumerate(zip(target.elts, values, strict=True)):
        value: Value = given
        after_stores = is_late or any(map(stores_elements, target.elts[:k]))
        if isinstance(one, ast.Tuple | ast.List) and isinstance(given, View | ArrayValue | ArrayName | AnyList):
            found = elements(state, given, one, one, after_stores)
            if found is None:
                state.forget(one)
                continue
            value = found
        if isinstance(value, tuple) and isinstance(one, ast.Tuple | ast.List):
            more_targets, more_values = matched(state, one, value, after_stores)
            targets += more_targets
            flat += more_values
        elif isinstance(value, tuple) or isinstance(one, ast.Tuple | ast.List):
            own_line = "unpack it on a line of its own"
            hint = RECORD_HINT if isinstance(value, Record) else own_line
            state.reject("LD107", "a tuple on one side only", one, hint)
            state.forget(one)
        else:
            targets.append(one)
            flat.append(value)
    return targets, flat


def picked(state: State, target: FieldTargets, values: Values) -> Values | None:
    """The fields that `target` takes; None after a rejection."""
    found = [field_at(state, values, field, target) for field in target.fields]
    return None if any(v is None for v in found) else tuple(v for v in found if v is not None)


def assign_together(state: State, targets: list[ast.expr], values: list[Value], span: Span) -> None:
    """All values are computed before any is stored; those that would change meanwhile are held."""
    written: set[str] = set()
    settled: list[Value] = []
    has_calls = any(isinstance(n, ast.Call) for t in targets for n in syntax_nodes(t))
    for target, value in zip(targets, values, strict=True):
        settled.append(settled_value(state, target, value, written, has_calls, span))
        written |= written_by(state, target)
    for target, value in zip(targets, settled, strict=True):
        if isinstance(target, ast.Name) and isinstance(value, ArrayName | AnyList | Varying | Outside | LocalFunction):
            state.bindings[target.id] = value
        elif isinstance(value, AnyList):
            state.reject("LD107", f"`{ast.unparse(target)}` gets a list", target, "use a name of its own for it")
        elif isinstance(value, Outside | LocalFunction):
            state.reject("LD107", f"`{ast.unparse(target)}` gets a function", target, "use a name of its own for it")
        elif isinstance(value, Varying):
            assign(state, target, one_of(state, value, span), span)
        elif isinstance(value, ArrayName):
            assign(state, target, state.all_of(value.array, span), span)
        elif not isinstance(value, tuple):
            assign(state, target, value, span)


def settled_value(
    state: State, target: ast.expr, value: Value, written: set[str], has_calls: bool, span: Span
) -> Value:
    """`value` as it is now, although the arrays `written` may change before it is stored; views change with them."""
    match value:
        case ArrayValue():
            return copied_view(state, value, stem(target), span)
        case View():
            return steady(state, value)
        case ListRow(view=view):
            return ListRow(steady(state, view))
        case _ if isinstance(value, ir.Expr) and any(has_calls or e.access.array in written for e in loads(value)):
            return frozen(state, value, f"{stem(target)}_new")
        case _:
            return value


def stem(target: ast.expr) -> str:
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else "value"


def written_by(state: State, target: ast.expr) -> set[str]:
    """The cell or array that an assignment to `target` changes."""
    if isinstance(target, ast.Name):
        return {state.cells[target.id]} if target.id in state.cells else set()
    names = {n.id for n in syntax_nodes(target) if isinstance(n, ast.Name)}  # `A.T[0]` is one of those of `A`
    return {b.array for n in sorted(names) if isinstance(b := state.binding(n), ArrayName | View | AnyList)}


# -- augmented assignments -----------------------------------------------------------------------------------
def parse_augmented(state: State, node: ast.AugAssign) -> None:
    """`x += e` and the other augmented assignments: arrays change in place, and so do lists."""
    match node.target:
        case ast.Name() if append(state, node):
            pass
        case ast.Name(id=name) as target:
            old = state.quantity(ast.Name(name, ast.Load(), **positions(target)))
            if isinstance(state.bindings.get(name), Rejected):
                state.quantity(node.value)
            elif isinstance(old, View):
                store_in_place(state, old, augmented(state, node, old), node)
            else:
                augment_name(state, node, target, old)
        case ast.Subscript() as target:
            if isinstance(node.value, ast.List | ast.Tuple):
                state.need_types()
            found, before = target_of(state, in_place(state, target)), len(state.whole.lengthened)
            match found:
                case ir.Access():
                    augment_element(state, node, found)
                case View():
                    store_in_place(state, found, augmented(state, node, found), node)
                case ArrayValue():
                    store_into(state, found, augmented(state, node, found), target, state.source.span(node))
                case Masked():
                    value = state.quantity(node.value)
                    store_masked(state, found, value, node, lambda a, b: result_of(state, node, a, b))
                case None:
                    state.quantity(node.value)
            refuse_other_length(state, node, found, before)
        case target:
            state.reject("LD107", f"cannot assign to `{ast.unparse(target)}`", target)


def store_in_place(state: State, old: View, value: Quantity, node: ast.AugAssign) -> None:
    """`old`, an array, gets its `value` after the operation, which NumPy makes in place."""
    if is_widened(state, old.array, as_array(value).element):
        message = f"`{ast.unparse(node)}` stores wider numbers in an array of {dtype_of(state, old.array)}"
        state.reject("LD213", message, node)
    store_array(state, old, value, node)


def augmented(state: State, node: ast.AugAssign, old: View | ArrayValue) -> Quantity:
    """The array `old`, or what it is of, after the operation."""
    place = len(state.out)
    value = array_like(state, node.value)
    return binary_operation(state, node.op, held(state, old, place), value, node)


def result_of(state: State, node: ast.AugAssign, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return state.as_number(binary_operation(state, node.op, left, right, node), node.target)


def augment_name(state: State, node: ast.AugAssign, target: ast.Name, old: ir.Expr | ArrayValue) -> None:
    """A number that is changed; by an array it becomes one."""
    place = len(state.out)
    value = state.quantity(node.value)
    note_changed(state, node, old, value)
    if is_array(value):
        total = binary_operation(state, node.op, held(state, old, place), value, node)
        assign_name(state, target, total, state.source.span(node))
        return
    access = state.define(target.id, state.source.span(target))
    accumulate(state, node, access, state.as_number(old, target), state.as_number(value, node.value))
    note_undecided(state, access, state.as_number(value, node.value))


def augment_element(state: State, node: ast.AugAssign, access: ir.Access) -> None:
    """`x[i] += e`: the old element is read before `e` is evaluated, which may change it."""
    place = len(state.out)
    value, old = state.number(node.value), ir.Load(access, loc=access.loc)
    if access.array in state.whole.lists:
        note_stored(state, access.array, kind_after(state, node.op, value), node)
        note_changed(state, node, old, value)
    if changes(state.out[place:], old):
        before = held(state, old, place)
        access = ir.Access(access.array, tuple(held(state, s, place) for s in access.subscripts), loc=access.loc)
        state.out.append(ir.Assign(access, result_of(state, node, before, value), loc=state.source.span(node)))
    else:
        accumulate(state, node, access, old, value)


def accumulate(state: State, node: ast.AugAssign, access: ir.Access, old: ir.Expr, value: ir.Expr) -> None:
    span = state.source.span(node)
    match node.op:
        case ast.Add() if not reads(value, access):
            state.out.append(ir.Accumulate("add", access, value, loc=span))
        case ast.Sub() if not reads(value, access):
            state.out.append(ir.Accumulate("add", access, negated_term(value), loc=span))
        case _:
            state.out.append(ir.Assign(access, result_of(state, node, old, value), loc=span))


def positions(node: ast.expr) -> dict[str, int]:
    names = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return {n: getattr(node, n) for n in names}
