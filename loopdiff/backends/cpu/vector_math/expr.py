"""Writing formulas over LLVM values: `Lanes` overloads Python's operators so that code reads like the
mathematics.

All arithmetic is plain IEEE: the error-free transformations below rely on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir as llvm_ir

from loopdiff.immutable import immutable

from ..simd.build import INT32, INT64, PLAIN, call, constant, lanes_like, mangled


@immutable
class Format:
    """Floating-point numbers as their bits have them, and integers of that size."""

    floating: llvm_ir.Type
    integer: llvm_ir.Type
    fraction: int
    bias: int

    @property
    def magic(self) -> float:
        """Adding it leaves an integer in the low bits of the sum."""
        return 1.5 * 2.0**self.fraction

    @property
    def magic_bits(self) -> int:
        return ((self.bias + self.fraction) << self.fraction) + (1 << (self.fraction - 1))

    @property
    def one_bits(self) -> int:
        return self.bias << self.fraction

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


DOUBLE = Format(llvm_ir.DoubleType(), INT64, 52, 1023)
SINGLE = Format(llvm_ir.FloatType(), INT32, 23, 127)


class Lanes:
    """A scalar or vector LLVM value of floats, integers of their size or booleans; numbers mix in as constants."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.value = value

    def of(self, other: Lanes | float) -> Any:
        return other.value if isinstance(other, Lanes) else constant(self.value.type, other)

    def new(self, value: Any) -> Lanes:
        return Lanes(self.builder, value)

    @property
    def is_integer(self) -> bool:
        return isinstance(self.element, llvm_ir.IntType)

    def op(self, integer: str, floating: str, a: Any, b: Any) -> Lanes:
        if self.is_integer:
            return self.new(getattr(self.builder, integer)(a, b))
        return self.new(getattr(self.builder, floating)(a, b, flags=PLAIN))

    def __add__(self, other: Lanes | float) -> Lanes:
        return self.op("add", "fadd", self.value, self.of(other))

    def __radd__(self, other: float) -> Lanes:
        return self.op("add", "fadd", self.of(other), self.value)

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self.op("sub", "fsub", self.value, self.of(other))

    def __rsub__(self, other: float) -> Lanes:
        return self.op("sub", "fsub", self.of(other), self.value)

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self.op("mul", "fmul", self.value, self.of(other))

    def __rmul__(self, other: float) -> Lanes:
        return self.op("mul", "fmul", self.of(other), self.value)

    def __truediv__(self, other: Lanes | float) -> Lanes:
        return self.new(self.builder.fdiv(self.value, self.of(other), flags=PLAIN))

    def __rtruediv__(self, other: float) -> Lanes:
        return self.new(self.builder.fdiv(self.of(other), self.value, flags=PLAIN))

    def __neg__(self) -> Lanes:
        return self.new(self.builder.fneg(self.value))

    def compared(self, relation: str, other: Lanes | float) -> Lanes:
        compare = self.builder.icmp_signed if self.is_integer else self.builder.fcmp_ordered
        return self.new(compare(relation, self.value, self.of(other)))

    def __lt__(self, other: Lanes | float) -> Lanes:
        return self.compared("<", other)

    def __le__(self, other: Lanes | float) -> Lanes:
        return self.compared("<=", other)

    def __gt__(self, other: Lanes | float) -> Lanes:
        return self.compared(">", other)

    def __ge__(self, other: Lanes | float) -> Lanes:
        return self.compared(">=", other)

    def equals(self, other: Lanes | float) -> Lanes:
        return self.compared("==", other)

    def __and__(self, other: Lanes | int) -> Lanes:
        return self.new(self.builder.and_(self.value, self.of(other)))

    def __or__(self, other: Lanes | int) -> Lanes:
        return self.new(self.builder.or_(self.value, self.of(other)))

    def __invert__(self) -> Lanes:
        return self.new(self.builder.not_(self.value))

    def __lshift__(self, count: int) -> Lanes:
        return self.new(self.builder.shl(self.value, self.of(count)))

    def __rshift__(self, count: int) -> Lanes:
        return self.new(self.builder.ashr(self.value, self.of(count)))

    def intrinsic(self, name: str, *others: Lanes | float) -> Lanes:
        args = [self.value, *(self.of(o) for o in others)]
        return self.new(call(self.builder, f"llvm.{name}.{mangled(self.value.type)}", self.value.type, args))

    def choose(self, yes: Lanes | float, no: Lanes | float) -> Lanes:
        """This mask's selection from `yes` and `no`, one of which is `Lanes`."""
        like = yes if isinstance(yes, Lanes) else no
        assert isinstance(like, Lanes)
        return self.new(self.builder.select(self.value, like.of(yes), like.of(no)))

    def where_any(self, emit: Callable[[], Lanes], otherwise: Lanes) -> Lanes:
        """This mask's selection from `emit()`, which a branch passes by where no lane wants it, and `otherwise`."""
        builder, is_any = self.builder, self.value
        if isinstance(is_any.type, llvm_ir.VectorType):
            is_any = call(builder, f"llvm.vector.reduce.or.{mangled(is_any.type)}", llvm_ir.IntType(1), [is_any])
        before = builder.block
        with builder.if_then(is_any, likely=False):
            chosen = self.choose(emit(), otherwise)
            inside = builder.block
        merged = builder.phi(otherwise.value.type)
        merged.add_incoming(otherwise.value, before)
        merged.add_incoming(chosen.value, inside)
        return self.new(merged)

    @property
    def magnitude(self) -> Lanes:
        return self.intrinsic("fabs")

    @property
    def nearest(self) -> Lanes:
        return self.intrinsic("rint")

    def with_sign_of(self, other: Lanes) -> Lanes:
        return self.intrinsic("copysign", other)

    @property
    def element(self) -> llvm_ir.Type:
        ty = self.value.type
        return ty.element if isinstance(ty, llvm_ir.VectorType) else ty

    @property
    def format(self) -> Format:
        return SINGLE if self.element in (SINGLE.floating, SINGLE.integer) else DOUBLE

    @property
    def bits(self) -> Lanes:
        """The bit pattern as an integer."""
        return self.new(self.builder.bitcast(self.value, lanes_like(self.value, self.format.integer)))

    @property
    def from_bits(self) -> Lanes:
        return self.new(self.builder.bitcast(self.value, lanes_like(self.value, self.format.floating)))

    def logical_shift(self, count: int) -> Lanes:
        """The integer's bits moved right, zeros moving in."""
        return self.new(self.builder.lshr(self.value, self.of(count)))

    @property
    def as_integer(self) -> Lanes:
        """A whole float (a double below 2**51 in magnitude, a single below 2**22) as an integer; garbage, but no trap,
        for others."""
        return (self + self.format.magic).bits - self.format.magic_bits

    @property
    def as_float(self) -> Lanes:
        """An integer of a magnitude below that as a float."""
        return (self + self.format.magic_bits).from_bits - self.format.magic

    def cast(self, form: Format) -> Lanes:
        """Singles as doubles, or doubles rounded to singles."""
        change = self.builder.fpext if form is DOUBLE else self.builder.fptrunc
        return self.new(change(self.value, lanes_like(self.value, form.floating)))


def function_of(formula: Callable[..., Lanes], *values: Lanes) -> Lanes:
    """A call of `formula`, made a function of the module once per type."""
    first, ty = values[0], values[0].value.type
    symbol = f"loopdiff.{formula.__name__}.{mangled(ty)}"
    function = first.builder.module.globals.get(symbol)
    if function is None:
        function = llvm_ir.Function(first.builder.module, llvm_ir.FunctionType(ty, [ty] * len(values)), symbol)
        function.linkage = "internal"
        function.attributes.add("nounwind")
        body = llvm_ir.IRBuilder(function.append_basic_block("entry"))
        body.ret(formula(*(Lanes(body, a) for a in function.args)).value)
    return first.new(first.builder.call(function, [v.value for v in values]))


def fused(a: Lanes, b: Lanes | float, c: Lanes | float) -> Lanes:
    """a * b + c with exactly one rounding."""
    return a.intrinsic("fma", b, c)


def multiply_add(a: Lanes, b: Lanes | float, c: Lanes | float) -> Lanes:
    """a * b + c with one rounding or two, whichever is fast on the machine."""
    return a.intrinsic("fmuladd", b, c)


def polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """Horner's rule; `coefficients` from the constant term up."""
    result = x.new(x.of(coefficients[-1]))
    for c in reversed(coefficients[:-1]):
        result = multiply_add(result, x, c)
    return result


def split_polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """Even and odd halves by Horner in x*x: half the latency of `polynomial`."""
    square = x * x
    return multiply_add(polynomial(square, coefficients[1::2]), x, polynomial(square, coefficients[::2]))


def tree_polynomial(x: Lanes, coefficients: Sequence[Lanes | float]) -> Lanes:
    """Estrin's scheme, neighbours joined again and again: the least latency, for the most registers."""
    terms: list[Any] = list(coefficients)
    power = x
    while True:
        pairs = [multiply_add(power, high, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
        if len(terms) == 1:
            return terms[0]
        power = power * power


def power_of_two(n: Lanes) -> Lanes:
    """2**n for integer lanes in the normal exponent range; only the low bits of n count."""
    return ((n << n.format.fraction) + n.format.one_bits).from_bits


def rounded(x: Lanes, scale: float) -> tuple[Lanes, Lanes]:
    """x * scale rounded to a whole number, and a float whose low bits are that number; for doubles |x * scale| is below
    2**51, for singles below 2**22."""
    shifted = multiply_add(x, scale, x.format.magic)
    return shifted - x.format.magic, shifted


def clamp(x: Lanes, low: float, high: float) -> Lanes:
    """`x` limited to [low, high]; nan stays nan."""
    return at_most((x < low).choose(low, x), high)


def at_most(x: Lanes, high: float) -> Lanes:
    """`x` limited to `high`; nan stays nan."""
    return (x > high).choose(high, x)


def two_sum(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """Rounded sum and its exact error (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def two_product(a: Lanes, b: Lanes | float) -> tuple[Lanes, Lanes]:
    """Rounded product and its exact error."""
    product = a * b
    return product, fused(a, b, -product)


Formula = Callable[..., Lanes]
