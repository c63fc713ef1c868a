"""Small LLVM building blocks shared by the vector primitives: conversions, broadcasts, intrinsic calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types
from numba.core.cgutils import get_or_insert_function
from numba.core.typing.templates import signature

from loopdiff.backends.cpu.defects import moves_masked_loads

from .types import LLVM_ELEMENTS, Vector, element_of, join, shaped

ARITHMETIC = ("contract", "nsz")
REDUCTION = ("reassoc", "contract", "nsz")
# Numba's fastmath option gives its flags to all instructions without any. This one is about calls of functions: to
# sums, products and quotients it means nothing, but keeps reassociation and contraction off them.
PLAIN = ("afn",)
FLOATS = (types.float32, types.float64)
BITS = (types.int64, types.boolean)
NUMBERS = (types.int64, *FLOATS)
ANY = (*BITS, *FLOATS)
INT1 = llvm_ir.IntType(1)
INT8 = llvm_ir.IntType(8)
INT32 = llvm_ir.IntType(32)
INT64 = llvm_ir.IntType(64)

Lowering = Callable[[Any, Any, Any, Any], Any]
Typed = tuple[Any, Lowering]


def llvm_type(element: types.Type, width: int) -> llvm_ir.Type:
    """The LLVM type of `width` lanes of `element` (0: the scalar)."""
    scalar = LLVM_ELEMENTS[element]
    return llvm_ir.VectorType(scalar, width) if width else scalar


def lanes_like(value: Any, scalar: llvm_ir.Type) -> llvm_ir.Type:
    """`scalar` in the shape (scalar or vector) of `value`."""
    return llvm_ir.VectorType(scalar, value.type.count) if isinstance(value.type, llvm_ir.VectorType) else scalar


def constant(like: llvm_ir.Type, number: float | int) -> llvm_ir.Constant:
    """`number` in every lane of the LLVM type `like`."""
    if isinstance(like, llvm_ir.VectorType):
        return llvm_ir.Constant(like, [llvm_ir.Constant(like.element, number)] * like.count)
    return llvm_ir.Constant(like, number)


def broadcast(builder: Any, scalar: Any, width: int) -> Any:
    """`scalar` in every one of `width` lanes; a scalar again when `width` is 0."""
    if not width:
        return scalar
    vector = llvm_ir.VectorType(scalar.type, width)
    undefined = llvm_ir.Constant(vector, llvm_ir.Undefined)
    first = builder.insert_element(undefined, scalar, INT32(0))
    return builder.shuffle_vector(first, undefined, constant(llvm_ir.VectorType(INT32, width), 0))


def shuffle(builder: Any, value: Any, lanes: Sequence[int], other: Any = None) -> Any:
    """The lanes of `value` (numbers from its width on: of `other`) in the order `lanes`."""
    other = llvm_ir.Constant(value.type, llvm_ir.Undefined) if other is None else other
    picks = llvm_ir.Constant(llvm_ir.VectorType(INT32, len(lanes)), [INT32(lane) for lane in lanes])
    return builder.shuffle_vector(value, other, picks)


def mangled(ty: llvm_ir.Type) -> str:
    """The suffix LLVM gives an intrinsic overloaded on `ty`, such as `v8f64`."""
    if isinstance(ty, llvm_ir.VectorType):
        return f"v{ty.count}{mangled(ty.element)}"
    if isinstance(ty, llvm_ir.PointerType):
        return "p0"
    return f"i{ty.width}" if isinstance(ty, llvm_ir.IntType) else "f64" if isinstance(ty, llvm_ir.DoubleType) else "f32"


def call(builder: Any, name: str, result: llvm_ir.Type, args: Sequence[Any], flags: Sequence[str] = ()) -> Any:
    """Call the function `name`, declared in the module when it is not there yet."""
    function_type = llvm_ir.FunctionType(result, [a.type for a in args])
    function = get_or_insert_function(builder.module, function_type, name)
    return builder.call(function, args, fastmath=flags)


def overloaded(builder: Any, name: str, *args: Any) -> Any:
    """Call the elementwise LLVM intrinsic `name`, overloaded on and returning its first argument's type."""
    return call(builder, f"{name}.{mangled(args[0].type)}", args[0].type, args)


class PlainInstruction(llvm_ir.Instruction):
    """An instruction that llvmlite has no builder method for: operation, type prefix and operands as they
    are."""

    def __init__(self, parent: Any, result: llvm_ir.Type, name: str, operands: Sequence[Any], prefix: str = "") -> None:
        self.prefix = prefix
        super().__init__(parent, result, name, operands)

    def descr(self, buf: list[str]) -> None:
        operands = ", ".join(f"{o.type} {o.get_reference()}" for o in self.operands)
        buf.append(f"{self.opname} {self.prefix}{operands}\n")


def frozen(builder: Any, value: Any) -> Any:
    """`value` with undefined lanes (such as a nan cast to an integer) made some definite number."""
    instruction = PlainInstruction(builder.block, value.type, "freeze", [value])
    builder._insert(instruction)
    return instruction


def masked_load(builder: Any, pointer: Any, vector: llvm_ir.VectorType, align: int, mask: Any) -> Any:
    """The lanes of `mask` from memory, zero in the others."""
    found = call(
        builder, f"llvm.masked.load.{mangled(vector)}.p0", vector, [pointer, INT32(align), mask, constant(vector, 0)]
    )
    return frozen(builder, found) if moves_masked_loads() else found


def lane_addresses(builder: Any, start: Any, offsets: Any) -> Any:
    """Byte pointers `start + offsets`, one per lane."""
    result = llvm_ir.VectorType(start.type, offsets.type.count)
    instruction = PlainInstruction(builder.block, result, "getelementptr", [start, offsets], "i8, ")
    builder._insert(instruction)
    return instruction


def convert(builder: Any, value: Any, source: types.Type, target: types.Type) -> Any:
    """Change the element type of a scalar or vector value: like `astype`, floats truncate, booleans test."""
    if source == target:
        return value
    out = lanes_like(value, LLVM_ELEMENTS[target])
    if target == types.boolean:
        zero = constant(value.type, 0)
        test = builder.icmp_signed if source == types.int64 else builder.fcmp_unordered
        return test("!=", value, zero)
    if target == types.int64:
        return builder.zext(value, out) if source == types.boolean else builder.fptosi(value, out)
    if source == types.boolean:
        return builder.uitofp(value, out)
    if source == types.int64:
        return builder.sitofp(value, out)
    return builder.fpext(value, out) if target == types.float64 else builder.fptrunc(value, out)


def bring(context: Any, builder: Any, value: Any, ty: types.Type, element: types.Type, width: int) -> Any:
    """`value` of Numba type `ty` as `width` lanes of `element`."""
    source = element_of(ty)
    if isinstance(ty, Vector):
        return convert(builder, value, ty.element, element)
    if source is None:
        raise TypeError(f"{ty} is no scalar of a vector")
    scalar = context.cast(builder, value, ty, source)
    return broadcast(builder, convert(builder, scalar, source, element), width)


def prefetch(builder: Any, pointer: Any, is_write: bool) -> None:
    """Ask for the cache line at `pointer`, which need not be memory of ours."""
    call(builder, "llvm.prefetch.p0", llvm_ir.VoidType(), [pointer, INT32(int(is_write)), INT32(3), INT32(1)])


def elementwise(
    args: Sequence[types.Type],
    emit: Callable[..., Any],
    allowed: Sequence[types.Type] = ANY,
    result: types.Type | None = None,
    least: types.Type | None = None,
) -> Typed | None:
    """Signature and lowering of an elementwise operation on vectors and scalars; None where they do not
    fit.

    The operands are brought to one element type (one of `allowed`; integers and booleans to `least` when
    that is given) and one width; `emit(builder, element, *values)` then makes the result, whose element
    type is `result` (None: that of the operands)."""
    fit = join(*args)
    if fit is None:
        return None
    element, width = fit
    if least is not None and element in BITS:
        element = least
    if element not in allowed:
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        brought = [bring(context, builder, v, t, element, width) for v, t in zip(values, sig.args, strict=True)]
        return emit(builder, element, *brought)

    return signature(shaped(result or element, width), *args), lower
