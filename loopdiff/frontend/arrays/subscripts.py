"""Subscripts: elements, views, elements at index arrays, extents of shapes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from loopdiff.frontend.arrays.constructions import array_like
from loopdiff.frontend.arrays.element_types import is_truth_value
from loopdiff.frontend.arrays.indexing import Masked, gathered, mask_target, masked
from loopdiff.frontend.arrays.integers import maximum
from loopdiff.frontend.arrays.nests import refuse_read_only
from loopdiff.frontend.arrays.shapes import constant_bound, extent_at, may_be_array, shaped
from loopdiff.frontend.arrays.slicing import Slice
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, is_array
from loopdiff.frontend.arrays.views import NewAxis, Rest, Subscript, basic
from loopdiff.frontend.parsing.bindings import ArrayName, Cell, Given, ListName, ListRow
from loopdiff.frontend.parsing.lists.lengths import Kinds
from loopdiff.frontend.parsing.lists.reading import ONE_INTEGER, elements_of, is_list, kinds_in
from loopdiff.frontend.parsing.order import frozen, held, in_order
from loopdiff.frontend.parsing.outside import constant_element, root_is_local
from loopdiff.frontend.parsing.placing import with_place
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads
from loopdiff.source.nodes import syntax_nodes

NOT_A_NUMBER = "subscript an array, once for each axis"


def subscript(state: State, node: ast.Subscript) -> Quantity:
    """An array element, a view, elements at index arrays, one extent of a shape, an element of a constant tuple."""
    match node.value:
        case ast.Attribute(value=base, attr="shape") if root_is_local(state, base):
            return shape_element(state, base, node)
        case _:
            pass
    if not root_is_local(state, node):
        return constant_element(state, node)
    found = subscripted(state, node)
    return ir.Const(0, loc=state.source.span(node)) if found is None else found


def shape_element(state: State, base: ast.expr, node: ast.Subscript) -> ir.Expr:
    array = shaped(state, base)
    if array is None:
        hint = f"pass `{ast.unparse(node.value)}` as an argument" if isinstance(base, ast.Name) else None
        return state.reject("LD119", f"`{ast.unparse(node.value)}` reads an attribute of a local value", node, hint)
    axis = None if isinstance(node.slice, ast.Slice) else state.quantity(node.slice)
    if not isinstance(axis, ir.Const) or not isinstance(axis.value, int):
        return state.reject("LD119", "the axis of `.shape[...]` must be a constant integer", node, "write `.shape[0]`")
    span = state.source.span(node)
    found = extent_at(state, array, axis.value, span)
    if found is None:
        return state.reject("LD207", f"there is no `{ast.unparse(node)}`", node)
    return with_place(found, span)


def target_of(state: State, node: ast.Subscript) -> ir.Access | View | ArrayValue | Masked | None:
    """What an assignment to `node` writes: an element, a view, elements at index arrays or under a mask."""
    found = subscripted(state, node, target_part)
    match found:
        case ir.Load(access=access):
            return access
        case View() | ArrayValue(element=ir.Load()) | Masked() | None:
            return found
        case _:
            is_part = isinstance(found, ir.PartOf) or (
                isinstance(found, ArrayValue) and isinstance(found.element, ir.PartOf)
            )
            hint = "assign both parts: `z[i] = complex(x, z[i].imag)`" if is_part else None
            state.reject("LD107", f"cannot assign to `{ast.unparse(node)}`", node, hint)
            return None


Take = Callable[[State, Array, Sequence[Subscript], ast.Subscript], Any]


def subscripted(state: State, node: ast.Subscript, take: Take | None = None) -> Any:
    """The part of an array that `node` takes, at the last brackets by `take`; None after a rejection."""
    base, levels = subscript_levels(node)
    levels = [meshed for level in levels for meshed in open_mesh(state, level)]
    if isinstance(base, ast.Name):
        levels[0] = from_the_start(state, base, levels[0])
    state.whole.indexed.add(base)
    found, place = base_of(state, base, node), len(state.out)
    flat = iter(in_order(state, [n for level in levels for n in level], parse_subscript))
    parsed = [[next(flat) for _ in level] for level in levels]
    if found is None or any(s is None for level in parsed for s in level):
        return None
    kinds = kinds_in(state, base)
    if kinds and isinstance(found, View) and (what := misuse_of_list(found, kinds, parsed, node)) is not None:
        state.reject("LD134", what, node, f"make an array of it: `np.array({ast.unparse(base)})`")
        return None
    if isinstance(found, ArrayValue):
        found = held(state, found, place)
    return taken_from(state, found, parsed, node, take or part)


def misuse_of_list(found: View, kinds: Kinds, levels: Sequence[Sequence[Any]], node: ast.Subscript) -> str | None:
    """What is wrong with taking, or replacing, this part of a list of these `kinds`, kept in `found`; None if that may
    be."""
    is_stored, depth = isinstance(node.ctx, ast.Store), len(levels)
    if any(len(level) != 1 or not is_number(level[0]) for level in levels[: len(kinds)]):
        return ONE_INTEGER
    if is_stored and depth <= len(kinds) and kinds[depth - 1] is tuple:
        return "an element of a tuple is replaced"
    if depth < len(kinds):
        return "a list in a list is replaced" if is_stored else "this is a list, used here as a number or an array"
    return "an array of a list is replaced" if is_stored and depth == len(kinds) < found.rank else None


def subscript_levels(node: ast.Subscript) -> tuple[ast.expr, list[list[ast.expr]]]:
    """What is subscripted, and the subscripts of each pair of brackets."""
    levels: list[list[ast.expr]] = []
    base: ast.expr = node
    while isinstance(base, ast.Subscript) and not (base is not node and is_element_of_call(base)):
        levels.insert(0, base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice])
        base = base.value
    return base, levels


def open_mesh(state: State, level: list[ast.expr]) -> list[list[ast.expr]]:
    """The subscripts between brackets, with those that `np.ix_(i, j)` stands for: `i[:, None]` and `j`, and for masks
    one behind the other, `[i][:, j]`."""
    match level:
        case [ast.Call(func=func, args=args, keywords=[])] if (
            args and state.outside(func) is np.ix_ and all(is_named_mask(state, arg) for arg in args)
        ):
            return [[*[ast.copy_location(ast.Slice(), arg)] * k, arg] for k, arg in enumerate(args)]
        case [ast.Call(func=func, args=args, keywords=[]) as call] if args and state.outside(func) is np.ix_:
            return [[in_mesh(state, arg, len(args) - 1 - k, call) for k, arg in enumerate(args)]]
        case _:
            return [level]


def is_named_mask(state: State, node: ast.expr) -> bool:
    if not isinstance(node, ast.Name) or is_list(state, node):
        return False
    state.need_types()
    value = state.quantity(node)
    return isinstance(value, View | ArrayValue) and value.rank == 1 and is_mask(state, value)


def in_mesh(state: State, node: ast.expr, more: int, call: ast.Call) -> ast.expr:
    """`node`, a list or an array with one axis, with so many `more` axes of one element after it."""
    match node:
        case ast.List(elts=elts):
            rows: list[ast.expr] = elts
            for _ in range(more):
                rows = [ast.copy_location(ast.List([row], ast.Load()), node) for row in rows]
            return ast.copy_location(ast.List(rows, ast.Load()), node)
        case ast.Call(func=func, args=[ast.List() as inner, *rest], keywords=named) if state.outside(func) is np.array:
            return ast.copy_location(ast.Call(func, [in_mesh(state, inner, more, call), *rest], named), node)
        case _:
            pass
    state.need_types()
    if is_list(state, node):
        node = ast.copy_location(ast.Call(ast.Constant(cast(Any, np.array)), [node], []), node)
        ast.fix_missing_locations(node)
    value = state.quantity(node)
    if not isinstance(value, View | ArrayValue) or value.rank != 1:
        state.reject("LD110", "`np.ix_` takes arrays with one axis", call)
    parts: list[ast.expr] = [ast.Slice(), *(ast.Constant(None) for _ in range(more))]
    part = ast.Subscript(node, ast.Tuple(parts, ast.Load()), ast.Load())
    return ast.fix_missing_locations(ast.copy_location(part, node)) if more else node


def from_the_start(state: State, base: ast.Name, level: list[ast.expr]) -> list[ast.expr]:
    """The subscripts of `base`, with what counts from the end in lists that are written out counted from the start."""
    count = next((k for k, node in enumerate(level) if not is_of_one_axis(state, node)), len(level))
    return [*(counted(state, base, k, node) for k, node in enumerate(level[:count])), *level[count:]]


def is_of_one_axis(state: State, node: ast.expr) -> bool:
    """Whether a subscript, which is no mask, is seen to stand for one axis: others are `...` and `None`."""
    value = node.value if isinstance(node, ast.Constant) else state.outside(node)
    return value is not None and value is not Ellipsis


def counted(state: State, base: ast.Name, axis: int, node: ast.expr) -> ast.expr:
    """`node` with `base.shape[axis] - k` in the place of elements `-k` of a list, or of `np.array` of one."""
    match node:
        case ast.Call(func=func, args=[ast.List() as first, *rest], keywords=keywords) if (
            state.outside(func) is np.array
        ):
            made = ast.Call(func, [within(base, axis, first), *rest], keywords)
        case ast.List():
            return within(base, axis, node)
        case _:
            return node
    return ast.copy_location(made, node)


def within(base: ast.Name, axis: int, node: ast.expr) -> ast.expr:
    match node:
        case ast.List(elts=elts, ctx=ctx):
            made: ast.expr = ast.List([within(base, axis, e) for e in elts], ctx)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(back))) if back > 0:
            shape = ast.Attribute(ast.Name(base.id, ast.Load()), "shape", ast.Load())
            size = ast.Subscript(shape, ast.Constant(axis), ast.Load())
            made = ast.BinOp(size, ast.Sub(), ast.Constant(int(back)))
            for inner in syntax_nodes(made):
                ast.copy_location(inner, node)
        case _:
            return node
    return ast.copy_location(made, node)


def is_element_of_call(node: ast.Subscript) -> bool:
    """Whether `node` is `f(x)[1]`, with an integer written out."""
    return isinstance(node.value, ast.Call) and constant_bound(node.slice) is not None


def element_of(state: State, found: Quantity, place: int, node: ast.Subscript) -> Quantity:
    """Element or row `place` of an array, as `node` says."""
    if not isinstance(found, View | ArrayValue):
        return state.reject("LD111", f"`{ast.unparse(node.value)}` cannot be subscripted", node.value)
    return taken_from(state, found, [[ir.Const(place, loc=state.source.span(node.slice))]], node, part)


def base_of(state: State, base: ast.expr, node: ast.Subscript) -> str | Array | None:
    """The array that is subscripted; None after a rejection."""
    if isinstance(base, ast.Name):
        match state.settle(base.id, base):
            case ArrayName(array=array):
                return array
            case View() as view:
                return view
            case ListName() | ListRow() as found:
                return elements_of(state, found, state.source.span(base))
            case Cell() | Given():
                if may_be_array(state, base):
                    state.need_types()
                state.reject("LD111", f"`{base.id}` is a number here, not an array", node, NOT_A_NUMBER)
            case _:
                pass
        return None
    if may_be_array(state, base):
        state.need_types()
        value = state.quantity(base)
        if isinstance(value, View | ArrayValue):
            is_fixed = isinstance(node.ctx, ast.Load) or state.owned(value, base, is_written=True)
            return value if is_fixed else None
    if isinstance(base, ast.Attribute):
        state.quantity(base)  # which says what is wrong with it
    state.reject("LD111", f"`{ast.unparse(base)}` cannot be subscripted", base)
    return None


def taken_from(
    state: State, base: str | Array, levels: Sequence[Sequence[Subscript]], node: ast.Subscript, take: Take
) -> Any:
    """`base` under each level of subscripts in turn: `A[i][j]` is `A[i, j]`."""
    span = state.source.span(node)
    flat = [s for level in levels for s in level]
    if isinstance(base, str):
        if all(map(is_number, flat)) and (state.types is None or len(flat) >= state.rank(base)):
            return ir.Load(ir.Access(base, tuple(flat), loc=span), loc=span)  # type: ignore[arg-type]
        state.need_types()
        base = state.all_of(base, span)
    value: Any = base
    levels = [flat] if all(map(is_number, flat)) else levels
    for number, level in enumerate(levels, start=1):
        if not isinstance(value, View | ArrayValue):
            state.reject("LD111", f"`{ast.unparse(node.value)}` is a number here, not an array", node, NOT_A_NUMBER)
            return None
        value = (take if number == len(levels) else part)(state, value, level, node)
        if value is None:
            return None
    return value


def is_number(subscript: Subscript) -> bool:
    return not isinstance(subscript, Slice | NewAxis | Rest | View | ArrayValue)


def parse_subscript(state: State, node: ast.expr) -> Any:
    """One of the subscripts between brackets; None after a rejection."""
    match node:
        case ast.Slice(lower=lower, upper=upper, step=step):
            return parse_slice(state, lower, upper, step, node)
        case ast.Constant(value=None):
            return NewAxis()
        case ast.Constant(value=value) if value is Ellipsis:
            return Rest()
        case ast.Name() | ast.Attribute() if state.outside(node) is None:
            return NewAxis()
        case _:
            return array_like(state, node)


def parse_slice(
    state: State, lower: ast.expr | None, upper: ast.expr | None, step: ast.expr | None, node: ast.expr
) -> Slice | None:
    """The bounds of a slice, those that are elements of arrays held in cells."""
    bounds: list[ir.Expr | None] = []
    for bound in (lower, upper):
        value = None if bound is None else state.quantity(bound)
        if is_array(value):
            state.reject("LD120", "the bounds of a slice must be integers", node)
            return None
        bounds.append(None if value is None else held_bound(state, value))  # type: ignore[arg-type]
    given = ir.Const(1) if step is None else state.quantity(step)
    stride = state.known(given) if isinstance(given, ir.Load) else given
    if isinstance(stride, ir.Param):
        span = state.source.span(node)
        is_forward = ir.Apply(Op.GT, (stride, ir.Const(0, loc=span)), loc=span)
        state.out.append(ir.Require(is_forward, "LD330", "the step of a slice is not above zero", loc=span))
        return Slice(bounds[0], bounds[1], maximum(stride, ir.Const(1, loc=span)))
    if not isinstance(stride, ir.Const) or not isinstance(stride.value, int) or stride.value == 0:
        state.reject("LD120", "the step of a slice must be an argument, or a constant integer other than zero", node)
        return None
    return Slice(bounds[0], bounds[1], stride.value)


def held_bound(state: State, bound: ir.Expr) -> ir.Expr:
    known = state.known(bound)
    return frozen(state, known, "bound") if any(e.access.subscripts for e in loads(known)) else known


def part(state: State, array: Array, subscripts: Sequence[Subscript], node: ast.Subscript) -> Quantity | None:
    """`array` under one level of subscripts; None after a rejection."""
    full = filled_up(state, array, subscripts, node)
    if full is None:
        return None
    arrays = [s for s in full if isinstance(s, View | ArrayValue)]
    if not arrays:
        return basic(state, array, full, node)
    if any(is_mask(state, s) for s in arrays):
        return masked(state, array, full, node)
    return gathered(state, array, full, node, is_parted(subscripts))


def is_parted(subscripts: Sequence[Subscript]) -> bool:
    """Whether `...`, which may stand for no axis, is between subscripts of index arrays and numbers."""
    places = [k for k, s in enumerate(subscripts) if not isinstance(s, Slice | NewAxis | Rest)]
    return any(isinstance(s, Rest) for s in subscripts[places[0] : places[-1]])


def target_part(state: State, array: Array, subscripts: Sequence[Subscript], node: ast.Subscript) -> Any:
    """Like `part`, but elements under a mask stay where they are."""
    full = filled_up(state, array, subscripts, node)
    if isinstance(array, View) and array.is_read_only:
        refuse_read_only(state, node)
        return None
    if isinstance(array, ArrayValue) and array.memory is None:
        base, whole = ast.unparse(node.value), ast.unparse(node)
        message = f"`{base}` is a new array, which nothing keeps: `{whole}` changes no other"
        state.reject("LD107", message, node, "write one pair of brackets, as `A[idx, 0]`, or name the array first")
        return None
    if full is not None and any(is_mask(state, s) for s in full):
        return mask_target(state, array, full, node)
    return part(state, array, subscripts, node)


def is_mask(state: State, subscript: Subscript) -> bool:
    return isinstance(subscript, View | ArrayValue) and is_truth_value(state, subscript.element)


def axes_taken(state: State, subscript: Subscript) -> int:
    """How many axes of an array the subscript stands for."""
    match subscript:
        case NewAxis() | Rest():
            return 0
        case View() | ArrayValue():
            return subscript.rank if is_mask(state, subscript) else 1
        case _:
            return 1


def filled_up(
    state: State, array: Array, subscripts: Sequence[Subscript], node: ast.Subscript
) -> list[Subscript] | None:
    """The subscripts with `:` for every axis that they leave out; None after a rejection."""
    count = sum(axes_taken(state, s) for s in subscripts)
    if count > array.rank:
        axes = "1 axis" if array.rank == 1 else f"{array.rank} axes"
        state.reject("LD203", f"`{ast.unparse(node.value)}` has {axes}, here it has {count} subscripts", node)
        return None
    rest: list[Subscript] = [Slice()] * (array.rank - count)
    places = [k for k, s in enumerate(subscripts) if isinstance(s, Rest)]
    if len(places) > 1:
        state.reject("LD120", "`...` stands once in a subscript", node)
        return None
    place = places[0] if places else len(subscripts)
    return [*subscripts[:place], *rest, *subscripts[place + 1 :]]
