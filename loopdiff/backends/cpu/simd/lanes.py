"""Functions that know about lanes: index vectors, tail masks, reductions, single lanes, lane-by-lane
calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from .arithmetic import emit_extremum
from .build import FLOATS, INT32, INT64, REDUCTION, Typed, bring, broadcast, call, constant, llvm_type, mangled, shuffle
from .types import LLVM_ELEMENTS, Vector, element_of, shaped, vector_bits, width_of


def lane_numbers(width: int, kind: llvm_ir.IntType = INT64) -> llvm_ir.Constant:
    return llvm_ir.Constant(llvm_ir.VectorType(kind, width), [kind(lane) for lane in range(width)])


def first_lanes(builder: Any, count: Any, width: int) -> Any:
    """The mask of the lanes below `count`, an int64, which may be negative or above `width`.

    Lanes are compared as integers that fill a register: narrower or wider ones would have to be converted.
    """
    bits = max(8, min(64, vector_bits() // width or 64))
    if bits < 64:
        count = call(builder, "llvm.smin.i64", INT64, [count, INT64(width)])
        count = builder.trunc(call(builder, "llvm.smax.i64", INT64, [count, INT64(0)]), llvm_ir.IntType(bits))
    return builder.icmp_signed("<", lane_numbers(width, llvm_ir.IntType(bits)), broadcast(builder, count, width))


def is_index(ty: Any) -> bool:
    return not width_of(ty) and element_of(ty) == types.int64


@intrinsic(prefer_literal=True)
def iota(typingctx: Any, start: Any, step: Any, width: Any) -> Typed | None:
    """int64 lanes start, start + step, start + 2 step, ...; `width` is a literal."""
    if not (is_index(start) and is_index(step) and isinstance(width, types.IntegerLiteral)):
        return None
    lanes = width.literal_value

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        first, stride = (
            bring(context, builder, v, t, types.int64, lanes) for v, t in zip(args[:2], sig.args[:2], strict=True)
        )
        return builder.add(first, builder.mul(stride, lane_numbers(lanes)))

    return signature(Vector(types.int64, lanes), start, step, width), lower


@intrinsic(prefer_literal=True)
def tail_mask(typingctx: Any, remaining: Any, width: Any) -> Typed | None:
    """Mask of the lanes below `remaining` (any integer, also negative or above `width`); `width` is a
    literal."""
    if not (is_index(remaining) and isinstance(width, types.IntegerLiteral)):
        return None
    lanes = width.literal_value

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return first_lanes(builder, context.cast(builder, args[0], sig.args[0], types.int64), lanes)

    return signature(Vector(types.boolean, lanes), remaining, width), lower


@intrinsic(prefer_literal=True)
def full_mask(typingctx: Any, width: Any) -> Typed | None:
    """The mask with every lane set."""
    if not isinstance(width, types.IntegerLiteral):
        return None
    result = Vector(types.boolean, width.literal_value)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return constant(llvm_type(types.boolean, result.width), 1)

    return signature(result, width), lower


@intrinsic
def extract(typingctx: Any, v: Any, lane: Any) -> Typed | None:
    """The scalar in lane number `lane`."""
    if not isinstance(v, Vector) or not is_index(lane):
        return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(args[0], bring(context, builder, args[1], sig.args[1], types.int64, 0))

    return signature(v.element, v, lane), lower


@intrinsic
def insert(typingctx: Any, v: Any, lane: Any, x: Any) -> Typed | None:
    """`v` with the scalar `x` in lane number `lane`."""
    if not isinstance(v, Vector) or not is_index(lane) or width_of(x) or element_of(x) is None:
        return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        index = bring(context, builder, args[1], sig.args[1], types.int64, 0)
        value = bring(context, builder, args[2], sig.args[2], sig.args[0].element, 0)
        return builder.insert_element(args[0], value, index)

    return signature(v, v, lane, x), lower


@intrinsic
def reverse(typingctx: Any, v: Any) -> Typed | None:
    """The lanes of `v` in opposite order."""
    if not isinstance(v, Vector):
        return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return shuffle(builder, args[0], range(v.width - 1, -1, -1))

    return signature(v, v), lower


@intrinsic
def transpose(typingctx: Any, rows: Any) -> Typed | None:
    """Lane l of result k is lane k of `rows[l]`: a tuple of as many vectors as lanes, a power of two."""
    if not isinstance(rows, types.UniTuple) or not isinstance(rows.dtype, Vector):
        return None
    width = rows.dtype.width
    if rows.count != width or width & (width - 1):
        return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        values = [builder.extract_value(args[0], k) for k in range(width)]
        step = 1
        while step < width:
            # Swap the off-diagonal quarters of every square of 2 step lanes.
            lanes = range(width)
            low = [lane if not lane & step else width + lane - step for lane in lanes]
            high = [lane + step if not lane & step else width + lane for lane in lanes]
            for k in (k for k in lanes if not k & step):
                a, b = values[k], values[k + step]
                values[k], values[k + step] = shuffle(builder, a, low, b), shuffle(builder, a, high, b)
            step *= 2
        return context.make_tuple(builder, sig.return_type, values)

    return signature(rows, rows), lower


def reduction(v: types.Type, emit: Callable[..., Any], element: types.Type | None = None) -> Typed | None:
    """Typing of a reduction of all lanes to one scalar; masks are summed and compared as integers."""
    if not isinstance(v, Vector):
        return None
    own = element or (types.int64 if v.element == types.boolean else v.element)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return emit(builder, own, bring(context, builder, args[0], v, own, v.width))

    return signature(own, v), lower


def emit_sum(builder: Any, element: types.Type, value: Any, name: str = "add", neutral: float = -0.0) -> Any:
    """Sum (or product) of the lanes; floating lanes in an order of LLVM's choice."""
    scalar = LLVM_ELEMENTS[element]
    if element in FLOATS:
        args = [llvm_ir.Constant(scalar, neutral), value]
        return call(builder, f"llvm.vector.reduce.f{name}.{mangled(value.type)}", scalar, args, REDUCTION)
    return call(builder, f"llvm.vector.reduce.{name}.{mangled(value.type)}", scalar, [value])


def emit_fold(builder: Any, element: types.Type, value: Any, relation: str) -> Any:
    """Largest or smallest lane by halving: log2(width) steps while the width is even."""
    width = value.type.count
    while width % 2 == 0:
        width //= 2
        low, high = shuffle(builder, value, range(width)), shuffle(builder, value, range(width, 2 * width))
        value = emit_extremum(builder, element, low, high, relation)
    out = builder.extract_element(value, INT32(0))
    for lane in range(1, width):
        out = emit_extremum(builder, element, out, builder.extract_element(value, INT32(lane)), relation)
    return out


@intrinsic
def reduce_add(typingctx: Any, v: Any) -> Typed | None:
    """Sum of the lanes (of a mask: how many are set)."""
    return reduction(v, emit_sum)


@intrinsic
def reduce_mul(typingctx: Any, v: Any) -> Typed | None:
    """Product of the lanes."""

    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        return emit_sum(builder, element, value, "mul", 1.0)

    return reduction(v, emit)


@intrinsic
def reduce_max(typingctx: Any, v: Any) -> Typed | None:
    """Largest lane, nan if any is nan."""

    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        return emit_fold(builder, element, value, ">")

    return reduction(v, emit)


@intrinsic
def reduce_min(typingctx: Any, v: Any) -> Typed | None:
    """Smallest lane, nan if any is nan."""

    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        return emit_fold(builder, element, value, "<")

    return reduction(v, emit)


def mask_reduction(mask: types.Type, name: str) -> Typed | None:
    if element_of(mask) != types.boolean:
        return None

    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        return call(builder, f"llvm.vector.reduce.{name}.{mangled(value.type)}", llvm_ir.IntType(1), [value])

    if isinstance(mask, Vector):
        return reduction(mask, emit, types.boolean)
    return signature(types.boolean, mask), lambda context, builder, sig, args: args[0]


@intrinsic
def any_(typingctx: Any, mask: Any) -> Typed | None:
    """Whether some lane is set."""
    return mask_reduction(mask, "or")


@intrinsic
def all_(typingctx: Any, mask: Any) -> Typed | None:
    """Whether every lane is set."""
    return mask_reduction(mask, "and")


def lanewise(function: Any, arity: int | None = None, is_same: bool = False) -> Any:
    """A vector function that calls the scalar `function` (a Numba-compiled function or one Numba knows) per
    lane.

    Scalar arguments go to every call unchanged; all vectors must have one width. With scalars only it is
    `function` itself. The result of `function` must be a scalar that a vector can hold; `is_same` casts it
    to the element type of the first argument where that is floating. `arity` defaults to the number of
    parameters of a Python function, 1 for a built-in one."""

    def lanes(typingctx: Any, *args: types.Type) -> Typed | None:
        widths = {width_of(a) for a in args} - {0}
        called = typingctx.resolve_value_type(function)
        scalars = tuple(element_of(a) if width_of(a) else a for a in args)
        inner = typingctx.resolve_function_type(called, scalars, {})
        if inner is None or len(widths) > 1:
            return None
        first, own = scalars[0], element_of(inner.return_type)
        element = first if is_same and first in FLOATS else own
        return None if element is None else calling(called, inner, element, max(widths, default=0), args)

    # Numba reads the parameters off the signature, and does not take `*args` there.
    names = ("typingctx", *(f"x{k}" for k in range(arity_of(function) if arity is None else arity)))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    vars(lanes)["__signature__"] = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    return intrinsic(lanes)


def calling(called: Any, inner: Any, element: types.Type, width: int, args: tuple[types.Type, ...]) -> Typed:
    """Signature and lowering of one call of `called` (with scalar signature `inner`) for each lane."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        implementation = context.get_function(called, inner)

        def one(lane: int) -> Any:
            formals = []
            for value, ty, formal in zip(values, sig.args, inner.args, strict=True):
                scalar = builder.extract_element(value, INT32(lane)) if width_of(ty) else value
                found = ty.element if isinstance(ty, Vector) else ty
                formals.append(context.cast(builder, scalar, found, formal))
            out = implementation(builder, formals)
            return context.cast(builder, out, inner.return_type, element)

        if not width:
            return one(0)
        result = llvm_ir.Constant(llvm_type(element, width), llvm_ir.Undefined)
        for lane in range(width):
            result = builder.insert_element(result, one(lane), INT32(lane))
        return result

    return signature(shaped(element, width), *args), lower


def arity_of(function: Any) -> int:
    """Number of parameters of a Python function or Numba dispatcher, 1 for anything else."""
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    return 1 if code is None else code.co_argcount
