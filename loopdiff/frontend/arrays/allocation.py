"""Local arrays: np.empty, zeros, ones, full and their `_like` forms, np.eye, and np.ndarray, which is np.empty."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import ZERO, at_least_zero, maximum, minimum, minus, plus
from loopdiff.frontend.arrays.nests import (
    AxesInRow,
    axes_in_row,
    made_of,
    nest,
    note_order,
    placed_in_row,
    with_more_room,
)
from loopdiff.frontend.arrays.ranges import is_nonnegative_here, limit
from loopdiff.frontend.arrays.shapes import array_extents, shape_extents, shaped
from loopdiff.frontend.arrays.values import ArrayValue, View
from loopdiff.frontend.arrays.views import bind_view
from loopdiff.frontend.parsing.order import frozen
from loopdiff.frontend.parsing.outside import array_of
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.buffers import declare
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ELEMENT_TYPES, ArrayType
from loopdiff.ir.walk import loads
from loopdiff.source.functions import MISSING

FILLS = {"empty": None, "zeros": 0, "ones": 1, "full": None}
DEFAULT_DTYPE = "float64"


@immutable
class Allocation:
    """One call: `like` is set for the `_like` forms; `shape`, `fill` and `dtype` as written."""

    kind: str
    shape: ast.expr | None
    like: ast.expr | None
    fill: ast.expr | None
    dtype: ast.expr | None


@immutable
class ElementType:
    """A dtype by NumPy name, or that of an array."""

    name: str | None = None
    of_array: str | None = None


def allocator(value: Any) -> str | None:
    """The name of the allocation function that `value` is."""
    if value is np.ndarray:
        return "empty"
    if value is np.eye or value is np.identity:
        return "eye"
    names = [f"{kind}{suffix}" for kind in FILLS for suffix in ("", "_like")]
    return next((n for n in names if value is getattr(np, n)), None)


def is_allocation(state: State, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and allocator(state.outside(node.func)) is not None


def parse_allocation(state: State, name: str, node: ast.Call) -> None:
    """`name = np.zeros(...)`: a new array, and the name for it."""
    bind_view(state, name, allocated(state, name, node), state.source.span(node))


def allocate_array(state: State, stem: str, node: ast.Call) -> View:
    """`np.zeros(...)` inside an expression."""
    return allocated(state, stem, node)


def allocated(state: State, stem: str, node: ast.Call) -> View:
    """A new array, filled as the call says; a part of one where the call's extents change in the loops around."""
    function = allocator(state.outside(node.func)) or ""
    span = state.source.span(node)
    allocation = call_arguments(state, function, node)
    fill: ir.Expr | None = None
    start = len(state.out)
    if allocation is not None:
        given = allocation.fill
        value = FILLS[allocation.kind]
        fill = None if value is None else ir.Const(value, loc=span)
        fill = fill if given is None else state.number(given)
    place = len(state.out)
    found = None if allocation is None else declaration(state, "", allocation, fill, span)
    state.out[start:] = [*state.out[place:], *state.out[start:place]]  # Python evaluates the shape first
    decl = found or ir.ArrayDecl("", None, "local", (ir.Const(1),), loc=span)
    sizes = [state.known(e) for e in decl.extents or ()]
    made, row = with_room(state, decl, sizes)
    array, left = declare(state, made, stem, fill, span)
    if allocation is not None and allocation.like is not None and state.types is not None:
        like = shaped(state, allocation.like)
        if like is not None:
            note_order(state, array, state.all_of(like, span) if isinstance(like, str) else like)
    if fill is not None and decl.type is None and (decl.dtype_like or decl.like) is None:
        made_of(state, array, fill)
    whole = state.all_of(array, span)
    if left is not None:
        held = frozen(state, left, "fill")
        state.out += nest(state, whole.extents, lambda at: [ir.Assign(ir.Access(array, at), held, loc=span)], span)
    if made is not decl:
        is_as_required = any(map(is_power, sizes))  # which meet others of their base as they are
        extents = tuple(s if is_as_required or is_nonnegative_here(state, s) else at_least_zero(s) for s in sizes)
        whole = with_more_room(state, whole, extents) if row is None else placed_in_row(state, array, extents, row)
    if function == "eye" and found is not None:
        put_ones(state, whole, sizes, node)
    return whole


def is_power(size: ir.Expr) -> bool:
    """Whether `size` is a power of what is no constant."""
    return isinstance(size, ir.Apply) and size.op is Op.POW and not isinstance(size.args[0], ir.Const)


def with_room(state: State, decl: ir.ArrayDecl, sizes: Sequence[ir.Expr]) -> tuple[ir.ArrayDecl, AxesInRow | None]:
    """`decl`, whose extents are `sizes`, with more room where those change in the loops around and never exceed it; and
    the axes that are in a row there."""
    if not any(e.access.array in state.whole.ranges for s in sizes for e in loads(s)):
        return decl, None
    limits = [limit(state, s) for s in sizes]
    room = tuple(at_least_zero(m) for m in limits if m is not None)
    if len(room) < len(sizes):
        return decl, None
    for size in sizes:
        if not is_nonnegative_here(state, size):
            is_extent = ir.Apply(Op.GE, (size, ZERO), loc=size.loc)
            state.out.append(ir.Require(is_extent, "LD324", "no array has a negative extent", loc=decl.loc))
    row = axes_in_row(state, sizes, limits)
    room = room if row is None else row.extents
    kind = None if decl.type is None else replace(decl.type, rank=len(room))
    return replace(decl, extents=room, type=kind), row


def call_arguments(state: State, function: str, node: ast.Call) -> Allocation | None:
    if function == "eye":
        return identity_arguments(state, node)
    kind, _, is_like = function.partition("_")
    order = ["prototype" if is_like else "shape", *(["fill_value"] if kind == "full" else []), "dtype"]
    given: dict[str, ast.expr] = dict(zip(order, node.args, strict=False))
    for keyword in node.keywords:
        name = "prototype" if keyword.arg == "a" and is_like else keyword.arg
        is_c_order = name == "order" and isinstance(keyword.value, ast.Constant) and keyword.value.value in ("C", "K")
        if name not in order or name in given:
            if is_c_order:
                continue
            state.reject("LD115", f"`np.{function}` is called with `{keyword.arg}=`", node, "leave it out")
            return None
        given[name] = keyword.value
    missing = [n for n in order if n not in given and n != "dtype"]
    if missing or len(node.args) > len(order) or any(isinstance(a, ast.Starred) for a in node.args):
        state.reject("LD115", f"`np.{function}` needs {' and '.join(order[:-1])}, and dtype if any", node)
        return None
    return Allocation(
        kind, given.get("shape"), given.get("prototype"), given.get("fill_value"), given.get("dtype")
    )  # fmt: skip


def put_ones(state: State, array: View, sizes: Sequence[ir.Expr], node: ast.Call) -> None:
    """Ones on the diagonal that `np.eye` is given, above the main one or below."""
    span = state.source.span(node)
    above = state.known(state.number(next((k.value for k in node.keywords if k.arg == "k"), ast.Constant(0))))
    right, down = maximum(above, ZERO), maximum(minus(ZERO, above), ZERO)
    count = minimum(minus(sizes[0], down), minus(sizes[1], right))

    def make(at: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        return [ir.Assign(array.access((plus(at[0], down), plus(at[0], right))), ir.Const(1, loc=span), loc=span)]

    state.out += nest(state, [count], make, span)


def identity_arguments(state: State, node: ast.Call) -> Allocation | None:
    """Those of the zeros that `np.eye(N, M, dtype=...)`, or `np.identity(N, dtype)`, puts ones into."""
    is_eye = state.outside(node.func) is np.eye
    given = dict(zip(("N", "M") if is_eye else ("N", "dtype"), node.args, strict=False))
    given |= {{"n": "N"}.get(k.arg or "", k.arg or ""): k.value for k in node.keywords}
    if "N" not in given or len(node.args) > 2 or not {*given} <= {"N", "M", "k", "dtype"}:
        state.reject("LD115", f"`{ast.unparse(node.func)}` takes rows, columns, `k=` and dtype here", node)
        return None
    shape = ast.Tuple([given["N"], given.get("M", given["N"])], ast.Load())
    return Allocation("zeros", ast.copy_location(shape, node), None, None, given.get("dtype"))


def declaration(
    state: State, array: str, allocation: Allocation, fill: ir.Expr | None, span: Span
) -> ir.ArrayDecl | None:
    """The declaration, or None after a rejection. dtype: as written, of `like`, of the fill, or float64."""
    element = ElementType() if allocation.dtype is None else element_type(state, allocation.dtype)
    if element is None:
        return None
    if allocation.like is not None:
        return declaration_like(state, array, allocation.like, element, span)
    if element == ElementType():
        element = default_element(allocation.kind, fill)
    shape = allocation.shape
    if isinstance(shape, ast.Attribute) and shape.attr == "shape" and shaped_by_name(state, shape.value):
        if element == ElementType():
            state.reject("LD115", "the dtype of this array follows from a computed value", span, "give `dtype=`")
            return None
        return declaration_like(state, array, shape.value, element, span)
    extents = None if shape is None else shape_extents(state, shape)
    if extents is None:
        return None
    if not extents:
        state.reject("LD115", "an array without axes", shape or span, "use a scalar variable")
        return None
    kind = None if element.name is None else ArrayType(element.name, len(extents))
    return ir.ArrayDecl(array, kind, "local", extents, None, element.of_array, loc=span)


def shaped_by_name(state: State, node: ast.expr) -> bool:
    return shaped(state, node) is not None


def declaration_like(state: State, array: str, node: ast.expr, element: ElementType, span: Span) -> ir.ArrayDecl | None:
    """An array of the shape of what `node` is, and of its dtype unless `element` says another."""
    like = shaped(state, node)
    kind = None if element.name is None else ArrayType(element.name, 0)
    match like:
        case None:
            state.reject("LD115", f"`{ast.unparse(node)}` is not an array", node)
            return None
        case str():
            return ir.ArrayDecl(array, kind, "local", None, like, element.of_array, loc=span)
        case ArrayValue(extents=()):
            state.reject("LD115", "an array without axes", node, "use a scalar variable")
            return None
        case View(array=base):
            of_array = element.of_array or (base if element.name is None else None)
            return ir.ArrayDecl(array, kind, "local", array_extents(state, like, span), None, of_array, loc=span)
        case _:
            if element == ElementType():
                state.reject("LD115", "the dtype of this array follows from a computed value", span, "give `dtype=`")
                return None
            return ir.ArrayDecl(
                array, kind, "local", array_extents(state, like, span), None, element.of_array, loc=span
            )


def default_element(kind: str, fill: ir.Expr | None) -> ElementType:
    """dtype of an allocation that names none: float64, but np.full takes that of its value, known to bind."""
    if kind != "full":
        return ElementType(DEFAULT_DTYPE)
    match fill:
        case ir.Const(value=bool()):
            return ElementType("bool")
        case ir.Const(value=int()):
            return ElementType("int64")
        case ir.Pair():
            return ElementType("complex128")
        case ir.Const(dtype=None):
            return ElementType(DEFAULT_DTYPE)
        case _:
            return ElementType()


def element_type(state: State, node: ast.expr) -> ElementType | None:
    """`np.float32`, `"float32"`, `float`, `x.dtype`; None after a rejection."""
    match node:
        case ast.Attribute(value=base, attr="dtype") if (array := array_of(state, base)) is not None:
            return ElementType(of_array=array)
        case ast.Attribute(value=ast.Name(id=name), attr="dtype") if isinstance(view := state.binding(name), View):
            return ElementType(of_array=view.array)
        case ast.Constant(value=str() as text):
            value: Any = text
        case _:
            value = state.outside(node)
    if isinstance(value, ElementType):
        return value
    try:
        name = "" if value is MISSING or value is None else np.dtype(value).name
    except TypeError:
        name = ""
    if name not in ELEMENT_TYPES:
        message = f"`{ast.unparse(node)}` is not a dtype loopdiff knows"
        state.reject("LD115", message, node, "use np.float64, np.float32, np.int64, np.bool_ or `x.dtype`")
        return None
    return ElementType(name)
