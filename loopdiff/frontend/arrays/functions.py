"""Functions and methods of whole arrays: `np.sum(x, axis=0)` is `x.sum(axis=0)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from loopdiff.frontend.arrays.allocation import ElementType, allocate_array, element_type, is_allocation
from loopdiff.frontend.arrays.broadcasting import positions_in, require_fit
from loopdiff.frontend.arrays.constructions import MAKERS, array_like, is_written_out, literal, triangle
from loopdiff.frontend.arrays.contractions import LETTERS, dot, einsum, inner, matmul, outer, sum_of_products
from loopdiff.frontend.arrays.element_types import dtype_of
from loopdiff.frontend.arrays.elementwise import combined
from loopdiff.frontend.arrays.integers import ONE, ZERO, plus, times
from loopdiff.frontend.arrays.nests import SMALL, SMALL_INTEGERS, copied_view, nest, new_array
from loopdiff.frontend.arrays.pieces import copy, copy_in_order, flatten, in_one_piece, ravel
from loopdiff.frontend.arrays.reductions import reduced
from loopdiff.frontend.arrays.shapes import flat, may_be_array, reshape, shape_of, size_of
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, as_array, fill, hole, is_array, of_each
from loopdiff.frontend.arrays.views import (
    Call,
    Nodes,
    axes_of,
    diagonal,
    diagonal_at,
    expand_dims,
    flip,
    is_numpys_number,
    moveaxis,
    read_only,
    squeeze,
    swapaxes,
    taken,
    transpose,
    with_new_axes,
)
from loopdiff.frontend.functions import ScalarFunction, scalar_function
from loopdiff.frontend.parsing.number_like import in_a_box, like_number
from loopdiff.frontend.parsing.order import in_order, kept
from loopdiff.frontend.parsing.outside import is_none, root_is_local
from loopdiff.frontend.parsing.placing import with_place
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.snapshots import Snapshot
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT, ArrayType
from loopdiff.ir.walk import loads, written_arrays
from loopdiff.numpy_functions import ACCUMULATED, REDUCED, placing
from loopdiff.source.functions import MISSING, python_function
from loopdiff.source.nodes import direct_call, syntax_nodes

Handler = Callable[[State, Call], Quantity]


@immutable
class ArrayFunction:
    """`places` and `names`: parameters after the array, which is called `first`, by position or name, and by name only.

    `needed`: how many of `places` must be given. `takes_more`: as a method, any number of positional arguments.
    """

    name: str
    handle: Handler
    places: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    needed: int = 0
    takes_more: bool = False
    first: str = "a"


def array_call(state: State, node: ast.Call, callee: Any) -> Quantity | None:
    """The value of a call of a function of whole arrays; None if `callee` is none."""
    if is_allocation(state, node):
        state.need_types()
        number = like_number(state, node)
        return allocate_array(state, "array", node) if number is None else number
    try:
        function = FUNCTIONS.get(callee)
    except TypeError:  # unhashable: not a function
        return None
    if callee is np.einsum:
        return einsum_call(state, node)
    if callee is np.array and is_written_out(node):
        state.need_types()
        given = {str(k.arg): k.value for k in node.keywords} | dict(zip(("dtype",), node.args[1:], strict=False))
        return copied(state, Call(literal(state, node), given, [], node))
    if callee in MAKERS:
        state.need_types()
        return MAKERS[callee](state, node)
    if callee in SMALL_TYPES and len(node.args) == 1 and not node.keywords:
        state.need_types()
        return small_integer(state, array_like(state, node.args[0]), SMALL_TYPES[callee], node)
    if function is None:
        return None
    state.need_types()
    rest: list[ast.expr] = list(node.args)
    named = {k.arg: k.value for k in node.keywords}
    first = rest.pop(0) if rest else named.pop(function.first, None)
    if first is None or any(isinstance(a, ast.Starred) for a in node.args):
        return state.reject("LD110", f"`np.{function.name}` is called without an array", node)
    return handled(state, function, array_like(state, first), rest, named, node)


def method_call(state: State, node: ast.Call) -> Quantity | None:
    """The value of `x.sum()` and the like, and of `np.add.outer`; None if it is no method of an array."""
    if (method := method_of_ufunc(state, node.func)) is not None:
        return of_ufunc(state, *method, node)
    match node.func:
        case ast.Attribute(value=base, attr=attr) if attr in METHODS and root_is_local(state, base):
            has_methods = is_numpys_number(state, base)
            if not may_be_array(state, base) and not has_methods:
                return None
            state.need_types()
            value = state.quantity(base)
            if not is_array(value) and not has_methods and attr != "astype":
                return None
            named = {k.arg: k.value for k in node.keywords}
            return handled(state, METHODS[attr], value, node.args, named, node, is_method=True)
        case _:
            return None


def handled(
    state: State, function: ArrayFunction, array: Quantity, rest: Sequence[ast.expr], named: dict[str | None, ast.expr],
    node: ast.Call, is_method: bool = False,
) -> Quantity:  # fmt: skip
    text = ast.unparse(node.func)
    if function.takes_more and is_method:
        more, places = list(rest), []
    else:
        more, places = [], list(rest)
    given: Nodes = dict(zip(function.places, places, strict=False))
    unknown = [k for k in named if k not in (*function.places, *function.names) or k in given]
    if unknown:
        return state.reject("LD110", f"`{text}` is called with `{unknown[0]}=`", node, "leave it out")
    given |= {k: v for k, v in named.items() if k is not None}
    if len(places) > len(function.places) or any(
        p not in given and not more for p in function.places[: function.needed]
    ):
        return state.reject("LD110", f"`{text}` is called with arguments it does not take here", node)
    return on_held(state, array, [*given.values(), *more], lambda a: function.handle(state, Call(a, given, more, node)))


def on_held(state: State, array: Quantity, later: Sequence[ast.expr], make: Callable[[Quantity], Quantity]) -> Quantity:
    """What `make` makes of `array`, as it is before the arguments that come `later`, which `make` evaluates."""
    if isinstance(array, View) or not any(is_written_out_at(state, n) for e in later for n in syntax_nodes(e)):
        return make(array)
    before, place = Snapshot.of(state), len(state.out)
    found = make(array)
    written = written_arrays(tuple(state.out[place:]))
    if not any(load.access.array in written for load in loads(as_array(array).element)):
        return found
    before.restore(state)
    return make(kept(state, array, written))


def is_written_out_at(state: State, node: ast.AST) -> bool:
    """Whether `node` is a call that may be of a Python function; those of NumPy and methods of arrays are none."""
    if not isinstance(node, ast.Call):
        return False
    if root_is_local(state, node.func):
        return not (isinstance(node.func, ast.Attribute) and node.func.attr in METHODS)
    value = state.outside(node.func)
    return value is MISSING or (python_function(value) is not None and scalar_function(value) is None)


# -- reductions and products ---------------------------------------------------------------------------------
def reduction(kind: str, state: State, call: Call) -> Quantity:
    array = as_array(call.array)
    axes = axes_of(state, call.given.get("axis"), array, call.node)
    keeps = state.number(call.given.get("keepdims", ast.Constant(False)))
    if axes is None:
        return ir.Const(0, loc=state.source.span(call.node))
    if not isinstance(keeps, ir.Const):
        hint = "write `keepdims=True`, or leave it out"
        return state.reject("LD110", "`keepdims` must be True or False, written out", call.node, hint)
    if kind.startswith("arg") and isinstance(call.given.get("axis"), ast.Tuple | ast.List):
        return state.reject("LD110", f"`{ast.unparse(call.node)}` needs one axis, or none", call.node)
    less = state.number(call.given["ddof"]) if "ddof" in call.given else ir.Const(0)
    if not isinstance(less, ir.Const) or not isinstance(less.value, int):
        return state.reject("LD110", "`ddof` must be an integer written out", call.node)
    return reduced(state, kind, array, axes, bool(keeps.value), call.node, less.value)


def product_of(function: Callable[..., Quantity], state: State, call: Call) -> Quantity:
    other = array_like(state, call.given["b"])
    return function(state, call.array, other, call.node)


def outer_product(state: State, call: Call) -> Quantity:
    other = array_like(state, call.given["b"])
    left, right = (flat(state, as_array(v), call.node) for v in (call.array, other))
    return outer(state, left, right, call.node)


def method_of_ufunc(state: State, node: ast.expr) -> tuple[np.ufunc, str] | None:
    """The function of two numbers, and its method, that `node` is, as `np.add.outer`."""
    if not isinstance(node, ast.Attribute):
        return None
    owner = state.outside(node.value)
    return (owner, node.attr) if isinstance(owner, np.ufunc) and owner.nin == 2 else None


def of_ufunc(state: State, ufunc: np.ufunc, method: str, node: ast.Call) -> Quantity | None:
    """`np.add.outer(x, y)`, `np.add.reduce(x)`, which is `np.sum(x, axis=0)`, and `np.add.accumulate(x)`."""
    scalar = scalar_function(ufunc)
    if method == "outer" and scalar is not None:
        return pairwise(state, scalar, node)
    if method == "reduceat" and ufunc in placing.REDUCED_AT and node.args:
        owner = node.func.value  # type: ignore[attr-defined]
        return state.quantity(direct_call(placing.REDUCED_AT[ufunc], [owner, *node.args], node, node.keywords))
    table = {"reduce": REDUCED, "accumulate": ACCUMULATED}.get(method, {})
    if ufunc not in table or len(node.args) > 2:
        return None
    first = [] if len(node.args) == 2 or any(k.arg == "axis" for k in node.keywords) else [ast.Constant(0)]
    axis = [ast.keyword("axis", ast.copy_location(a, node)) for a in first]
    return state.quantity(direct_call(table[ufunc], node.args, node, [*node.keywords, *axis]))


def pairwise(state: State, function: ScalarFunction, node: ast.Call) -> Quantity:
    state.need_types()
    if len(node.args) != 2 or node.keywords:
        return state.reject("LD110", f"`{ast.unparse(node.func)}` takes two arrays", node)
    left, right = map(as_array, in_order(state, node.args, array_like))
    rows = with_new_axes(left, range(left.rank, left.rank + right.rank))
    span = state.source.span(node)
    return combined(state, lambda *v: with_place(function.build(*v), span), [rows, right], node)


def trace(state: State, call: Call) -> Quantity:
    array = as_array(call.array)
    if array.rank != 2:
        return state.reject("LD110", "`trace` takes a matrix", call.node)
    down, right, length = diagonal_at(state, array, call)
    square = taken(array, [plus(hole(0), down), plus(hole(1), right)], (length, length))
    return sum_of_products(state, [(square, "aa")], "", call.node)


def rank(state: State, call: Call) -> Quantity:
    return ir.Const(call.array.rank if isinstance(call.array, View | ArrayValue) else 0)


def size(state: State, call: Call) -> Quantity:
    """How many elements there are, along an `axis` or in all."""
    array, span = as_array(call.array), state.source.span(call.node)
    if "axis" not in call.given:
        return size_of(array, span)
    axes = axes_of(state, call.given["axis"], array, call.node)
    return ir.Const(0, loc=span) if axes is None else reduce(times, (array.extents[k] for k in axes), ONE)


def summed_over(state: State, call: Call) -> Quantity:
    """`np.tensordot` over so many axes, or over those that are named."""
    left, right = as_array(call.array), as_array(array_like(state, call.given["b"]))
    match call.given.get("axes", ast.Constant(2)):
        case ast.Constant(value=int(count)):
            first: tuple[int, ...] | None = tuple(range(left.rank - count, left.rank))
            second: tuple[int, ...] | None = tuple(range(count))
        case ast.Tuple(elts=[one, other]) | ast.List(elts=[one, other]):
            first, second = axes_of(state, one, left, call.node), axes_of(state, other, right, call.node)
        case _:
            first = second = None
    is_fit = first is not None and second is not None and len(first) == len(second)
    if first is None or second is None or not is_fit or min((*first, 0)) < 0 or max((*second, -1)) >= right.rank:
        return state.reject(
            "LD110", "`axes` of `np.tensordot` must be a number, or axes of each, written out", call.node
        )
    labels = list(LETTERS[: left.rank]), list(LETTERS[left.rank : left.rank + right.rank])
    for mine, its in zip(first, second, strict=True):
        labels[1][its] = labels[0][mine]
    out = [c for k, c in enumerate(labels[0]) if k not in first] + [
        c for k, c in enumerate(labels[1]) if k not in second
    ]
    factors = [(left, "".join(labels[0])), (right, "".join(labels[1]))]
    return sum_of_products(state, factors, "".join(out), call.node)


def einsum_call(state: State, node: ast.Call) -> Quantity:
    state.need_types()
    match node.args:
        case [ast.Constant(value=str() as formula), *operands] if operands and not node.keywords:
            return einsum(state, formula, in_order(state, operands, array_like), node)
        case _:
            return state.reject("LD110", "`np.einsum` needs its formula written out as a string, and operands", node)


# -- other shapes --------------------------------------------------------------------------------------------
def triangle_of(is_upper: bool, state: State, call: Call) -> Quantity:
    diagonal = state.number(call.given["k"]) if "k" in call.given else ir.Const(0)
    return triangle(state, as_array(call.array), diagonal, is_upper, call.node)


def broadcast_to(state: State, call: Call) -> Quantity:
    """A view that repeats elements, to which NumPy forbids to write."""
    array, span = as_array(call.array), state.source.span(call.node)
    shape = shape_of(state, [call.given["shape"]], call.node) or []
    extents = [e for e in shape if e is not None]
    if len(extents) < len(shape) or len(shape) < max(array.rank, 1):
        return state.reject("LD110", f"`{ast.unparse(call.node)}` needs an extent for each axis", call.node)
    if not isinstance(array, View):
        held = array if array.rank else ArrayValue((ir.Const(1, loc=span),), array.element)
        array = copied_view(state, held, "held", span)
    require_fit(state, array, extents, span)
    return read_only(taken(array, positions_in(state, array, extents), extents))


# -- elements ------------------------------------------------------------------------------------------------
def as_given(state: State, call: Call) -> Quantity:
    """The array itself, if it is of the type that is asked for."""
    if not is_array(call.array):
        number = converted(state, call, element_type(state, call.given["dtype"])) if call.given else call.array
        return in_a_box(state, as_array(number).element, call.node)
    if "dtype" not in call.given:
        return call.array
    kind = element_type(state, call.given["dtype"])
    name = None if kind is None else kind.name  # None for that of an array, which may be unknown

    def given(array: Array) -> Array:
        is_same = name is not None and isinstance(array, View) and dtype_of(state, array.array) == name
        return array if is_same else as_array(converted(state, replace(call, array=array), kind))

    array = call.array
    return of_each(array, given) if isinstance(array, View | ArrayValue) else converted(state, call, kind)


def piece_of(state: State, call: Call, is_turned: bool) -> Quantity:
    return in_one_piece(state, as_given(state, call), call.node, is_turned)


def copied(state: State, call: Call) -> Quantity:
    return astype(state, call) if "dtype" in call.given else copy(state, call)


def astype(state: State, call: Call) -> Quantity:
    return converted(state, call, element_type(state, call.given["dtype"]))


def converted(state: State, call: Call, kind: ElementType | None) -> Quantity:
    """The array in elements of `kind`."""
    name = None if kind is None else kind.name
    if kind is not None and kind.of_array is not None:
        name = dtype_of(state, kind.of_array)
    if name in SMALL and isinstance(call.array, View | ArrayValue):
        return narrowed(state, call.array, name, call.node)
    function = scalar_function(getattr(np, {"bool": "bool_"}.get(name or "", name or ""), None))
    if function is None:
        message = f"`{ast.unparse(call.node)}` converts to a dtype that is not known here"
        return state.reject("LD110", message, call.node, "convert to np.float64, np.float32, np.int64 or np.bool_")
    span = state.source.span(call.node)
    return combined(state, lambda e: with_place(function.build(e), span), [call.array], call.node)


def narrowed(state: State, array: Array, dtype: str, node: ast.AST) -> View:
    """A new array of small integers, in which those that do not fit wrap, or of halves, which round."""
    span = state.source.span(node)
    view = new_array(state, "narrow", array.extents, span)
    state.arrays[view.array] = replace(state.arrays[view.array], type=ArrayType(dtype, array.rank))

    def make(subscripts: tuple[ir.Expr, ...]) -> list[ir.Stmt]:
        value = fill(array.element, subscripts)
        value = ir.Cast(INT, value) if dtype in SMALL_INTEGERS else value
        return [ir.Assign(view.access(subscripts), value, loc=span)]

    state.out += nest(state, view.extents, make, span)
    return view


def small_integer(state: State, value: Quantity, dtype: str, node: ast.AST) -> Quantity:
    """`np.uint8(v)`, of an array or of a number, which is then an element of an array that holds it: one that does not
    fit is an error in NumPy, or whatever the machine makes of it."""
    if is_array(value):
        return narrowed(state, as_array(value), dtype, node)
    span, number, limits = state.source.span(node), as_array(value).element, np.iinfo(dtype)
    bounds = ((Op.GE, int(limits.min)), (Op.LE, int(limits.max)))
    fits = [ir.Apply(op, (number, ir.Const(bound)), loc=span) for op, bound in bounds]
    text = f"the number does not fit in np.{dtype}"
    state.out.append(ir.Require(ir.Apply(Op.AND, tuple(fits), loc=span), "LD332", text, loc=span))
    view = narrowed(state, ArrayValue((ONE,), number), dtype, node)
    return ir.Load(view.access((ZERO,)), loc=span)


def clipped(state: State, call: Call) -> Quantity:
    return bounded(state, call.array, [call.given.get(k) for k in ("min", "max")], call.node)


def bounded(state: State, value: Quantity, bounds: Sequence[ast.expr | None], node: ast.Call) -> Quantity:
    """`value` between two bounds, or on one side of one."""
    span, ops = state.source.span(node), (Op.MAX, Op.MIN)
    given = [(op, b) for op, b in zip(ops, bounds, strict=True) if b is not None and not is_none(state, b)]
    if not given:
        return state.reject("LD110", f"`{ast.unparse(node)}` has no bound", node, "leave it out")

    def build(x: ir.Expr, *limits: ir.Expr) -> ir.Expr:
        for (op, _), limit in zip(given, limits, strict=True):
            x = ir.Apply(op, (x, limit), loc=span)
        return x

    return combined(state, build, [value, *in_order(state, [b for _, b in given], array_like)], node)


def clip_call(state: State, node: ast.Call) -> Quantity:
    """`np.clip`, whose bounds are called `a_min` and `a_max`, or `min` and `max`."""
    names, own = {"a_min": "min", "a_max": "max"}, {str(k.arg) for k in node.keywords}
    named = {names.get(str(k.arg), str(k.arg)): k.value for k in node.keywords}
    given = dict(zip(("a", "min", "max"), node.args, strict=False))
    is_of_one = not own & {"min", "max"} or (len(node.args) < 2 and not own & {*names})
    is_fit = is_of_one and len(named) == len(node.keywords) and not given.keys() & named.keys() and len(node.args) <= 3
    given |= named
    is_fit = is_fit and (len(given) == 3 or bool(own & {"min", "max"}))
    if not is_fit or not {"a"} <= given.keys() <= {"a", "min", "max"}:
        return state.reject("LD110", f"`{ast.unparse(node.func)}` takes an array, or a number, and two bounds", node)
    bounds = [given.get("min"), given.get("max")]
    first = array_like(state, given["a"])
    return on_held(state, first, [b for b in bounds if b is not None], lambda a: bounded(state, a, bounds, node))


REDUCTIONS = ("sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin")
BY_NAME = {
    **{k: ArrayFunction(k, partial(reduction, k), ("axis",), ("keepdims",)) for k in REDUCTIONS},
    **{k: ArrayFunction(k, partial(reduction, k), ("axis",), ("keepdims", "ddof")) for k in ("var", "std")},
    "dot": ArrayFunction("dot", partial(product_of, dot), ("b",), needed=1),
    "copy": ArrayFunction("copy", copy),
    "trace": ArrayFunction("trace", trace, ("offset",)),
    "diagonal": ArrayFunction("diagonal", diagonal, ("offset",)),
    "ravel": ArrayFunction("ravel", ravel),
    "transpose": ArrayFunction("transpose", transpose, ("axes",), takes_more=True),
    "reshape": ArrayFunction("reshape", reshape, ("shape",), needed=1, takes_more=True),
    "swapaxes": ArrayFunction("swapaxes", swapaxes, ("axis1", "axis2"), needed=2),
    "squeeze": ArrayFunction("squeeze", squeeze, ("axis",)),
}
SMALL_TYPES: dict[Any, str] = {getattr(np, name): name for name in SMALL_INTEGERS}
METHODS = {
    **BY_NAME,
    "copy": ArrayFunction("copy", copy_in_order),
    "flatten": ArrayFunction("flatten", flatten),
    "astype": ArrayFunction("astype", astype, ("dtype",), needed=1),
    "clip": ArrayFunction("clip", clipped, ("min", "max")),
}
FUNCTIONS: dict[Any, ArrayFunction] = {
    **{getattr(np, k): f for k, f in BY_NAME.items()},
    np.amax: BY_NAME["max"], np.amin: BY_NAME["min"],
    np.count_nonzero: ArrayFunction("count_nonzero", partial(reduction, "count_nonzero"), ("axis",), ("keepdims",)),
    **{
        m.matmul: ArrayFunction("matmul", partial(product_of, matmul), ("b",), needed=1)
        for m in (np, np.linalg) if hasattr(m, "matmul")
    },
    np.inner: ArrayFunction("inner", partial(product_of, inner), ("b",), needed=1),
    np.outer: ArrayFunction("outer", outer_product, ("b",), needed=1),
    np.ndim: ArrayFunction("ndim", rank),
    np.size: ArrayFunction("size", size, ("axis",)),
    **{
        m.tensordot: ArrayFunction("tensordot", summed_over, ("b", "axes"), needed=1)
        for m in (np, np.linalg) if hasattr(m, "tensordot")
    },
    np.asarray: ArrayFunction("asarray", as_given, ("dtype",)),
    np.asanyarray: ArrayFunction("asanyarray", as_given, ("dtype",)),
    np.ascontiguousarray: ArrayFunction("ascontiguousarray", partial(piece_of, is_turned=False), ("dtype",)),
    np.asfortranarray: ArrayFunction("asfortranarray", partial(piece_of, is_turned=True), ("dtype",)),
    np.array: ArrayFunction("array", copied, ("dtype",)),
    np.flip: ArrayFunction("flip", flip, ("axis",), first="m"),
    np.triu: ArrayFunction("triu", partial(triangle_of, True), ("k",), first="m"),
    np.tril: ArrayFunction("tril", partial(triangle_of, False), ("k",), first="m"),
    np.moveaxis: ArrayFunction("moveaxis", moveaxis, ("source", "destination"), needed=2),
    np.broadcast_to: ArrayFunction("broadcast_to", broadcast_to, ("shape",), needed=1, first="array"),
    np.expand_dims: ArrayFunction("expand_dims", expand_dims, ("axis",), needed=1),
}  # fmt: skip


# -- statements ----------------------------------------------------------------------------------------------
def is_array_call(state: State, node: ast.Call) -> bool:
    """Whether `node` calls a function or a method of whole arrays."""
    callee = state.outside(node.func)
    if method_of_ufunc(state, node.func) is not None:
        return True
    if callee is MISSING:
        return isinstance(node.func, ast.Attribute) and node.func.attr in METHODS and root_is_local(state, node.func)
    try:
        return callee in FUNCTIONS or callee in MAKERS or callee is np.einsum or is_allocation(state, node)
    except TypeError:  # unhashable: not a function
        return False
