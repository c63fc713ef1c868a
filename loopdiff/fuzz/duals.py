"""Plain Python functions on dual numbers: values and directional derivatives with nothing of loopdiff in between.

The function runs as it was written, on arrays of `Dual`, with stand-ins for `math`, `numpy` and the builtins
that would turn a `Dual` into a float. A `Trace` remembers what makes a run no evidence: a branch or a
rounding that another order of the same sums could decide otherwise, and a kink.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from types import FunctionType
from typing import Any

import numpy as np


class TooLongError(Exception):
    """The program runs for too long to be evidence."""


@dataclass(slots=True)
class Trace:
    """What happened during one run. Values closer than `closeness` are taken as equal up to rounding.

    `is_single`: values that were given may be rounded when they are stored. `is_strict`: sums, products and quotients
    of doubles come out the same everywhere. More than `most` operations are too many to wait for.
    """

    closeness: float
    is_single: bool = False
    is_strict: bool = False
    most: int = 1_000_000
    operations: int = 0
    largest: float = 1.0
    is_fragile: bool = False
    has_kink: bool = False

    def compare(self, a: Dual, b: Dual) -> None:
        gap = abs(a.value - b.value)
        is_exact = a.is_exact and b.is_exact and not self.is_single
        if not is_exact and gap <= self.closeness * max(1.0, abs(a.value), abs(b.value)):
            self.is_fragile = True


def binary(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`method` for numbers: NumPy applies it to each element of an array."""

    def apply(self: Any, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else method(self, other)

    return apply


@dataclass(frozen=True, slots=True, eq=False)
class Dual:
    """`value + slope * epsilon`, both perhaps complex. `is_exact`: the value was given, not computed."""

    value: Any
    slope: Any
    trace: Trace
    is_exact: bool = False

    def lift(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return other
        number = complex(other) if np.iscomplexobj(other) else float(other)
        return Dual(number, 0.0, self.trace, True)

    def made(self, value: Any, slope: Any, *operands: Dual) -> Dual:
        """A result; of one operation on `operands` that is rounded correctly, if they are given."""
        trace = self.trace
        trace.operations += 1
        if trace.operations > trace.most:
            raise TooLongError
        trace.largest = max(trace.largest, abs(value), abs(slope))
        return Dual(value, slope, trace, trace.is_strict and bool(operands) and all(b.is_exact for b in operands))

    # -- arithmetic ------------------------------------------------------------------------------------------
    @binary
    def __add__(self, other: Any) -> Dual:
        b = self.lift(other)
        return self.made(self.value + b.value, self.slope + b.slope, self, b)

    __radd__ = __add__

    @binary
    def __sub__(self, other: Any) -> Dual:
        b = self.lift(other)
        return self.made(self.value - b.value, self.slope - b.slope, self, b)

    @binary
    def __rsub__(self, other: Any) -> Dual:
        return self.lift(other) - self

    @binary
    def __mul__(self, other: Any) -> Dual:
        b = self.lift(other)
        return self.made(self.value * b.value, self.slope * b.value + self.value * b.slope, self, b)

    __rmul__ = __mul__

    @binary
    def __truediv__(self, other: Any) -> Dual:
        b = self.lift(other)
        value = self.value / b.value
        return self.made(value, (self.slope - value * b.slope) / b.value, self, b)

    @binary
    def __rtruediv__(self, other: Any) -> Dual:
        return self.lift(other) / self

    @binary
    def __floordiv__(self, other: Any) -> Dual:
        b = self.lift(other)
        return self.made(float(math.floor(self.stepped(self.value / b.value))), 0.0)

    @binary
    def __mod__(self, other: Any) -> Dual:
        b = self.lift(other)
        return self.made(self.value % b.value, self.slope - (self // b).value * b.slope)

    @binary
    def __rfloordiv__(self, other: Any) -> Dual:
        return self.lift(other) // self

    @binary
    def __rmod__(self, other: Any) -> Dual:
        return self.lift(other) % self

    @binary
    def __pow__(self, other: Any) -> Dual:
        if not isinstance(other, Dual):
            slope = 0.0 if other == 0 else other * self.value ** (other - 1) * self.slope
            return self.made(self.value**other, slope)
        value = self.value**other.value
        slope = other.value * self.value ** (other.value - 1) * self.slope
        return self.made(value, slope + (value * math.log(self.value) * other.slope if other.slope else 0.0))

    @binary
    def __rpow__(self, other: Any) -> Dual:
        value = other**self.value
        return self.made(value, value * math.log(other) * self.slope)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope, self.trace, self.is_exact)

    def __pos__(self) -> Dual:
        return self

    def __abs__(self) -> Dual:
        self.trace.compare(self, self.lift(0.0))
        self.trace.has_kink |= self.value == 0
        if isinstance(self.value, complex):
            value = abs(self.value)
            return self.made(value, (self.value.conjugate() * self.slope).real / value)
        sign = (self.value > 0) - (self.value < 0)
        return Dual(abs(self.value), sign * self.slope, self.trace, self.is_exact)

    # -- parts of complex numbers ----------------------------------------------------------------------------
    @property
    def real(self) -> Dual:
        return Dual(self.value.real, self.slope.real, self.trace, self.is_exact)

    @property
    def imag(self) -> Dual:
        return Dual(self.value.imag, self.slope.imag, self.trace, self.is_exact)

    def conjugate(self) -> Dual:
        return Dual(self.value.conjugate(), self.slope.conjugate(), self.trace, self.is_exact)

    # -- tests and roundings ---------------------------------------------------------------------------------
    def compared(self, other: Any, test: Callable[[Any, Any], bool]) -> bool:
        b = self.lift(other)
        self.trace.compare(self, b)
        return test(self.value, b.value)

    @binary
    def __lt__(self, other: Any) -> bool:
        return self.compared(other, operator.lt)

    @binary
    def __le__(self, other: Any) -> bool:
        return self.compared(other, operator.le)

    @binary
    def __gt__(self, other: Any) -> bool:
        return self.compared(other, operator.gt)

    @binary
    def __ge__(self, other: Any) -> bool:
        return self.compared(other, operator.ge)

    @binary
    def __eq__(self, other: Any) -> bool:
        return self.compared(other, operator.eq)

    @binary
    def __ne__(self, other: Any) -> bool:
        return self.compared(other, operator.ne)

    def __bool__(self) -> bool:
        return self != 0.0

    def stepped(self, value: float) -> float:
        """`value`, about to be rounded to an integer."""
        if abs(2 * value - round(2 * value)) <= 4 * self.trace.closeness * max(1.0, abs(value)):
            self.trace.is_fragile |= self.trace.is_single or not self.is_exact
        return value

    def __int__(self) -> int:
        return int(self.stepped(self.value))

    def __round__(self) -> int:
        return round(self.stepped(self.value))

    def rounded(self, function: Callable[[float], float]) -> Dual:
        return self.made(float(function(self.stepped(self.value))), 0.0)


# -- functions ---------------------------------------------------------------------------------------------
Rule = tuple[Callable[[float], float], Callable[[float, float], float]]


def digamma(x: float) -> float:
    """By recurrence to x > 8, then the asymptotic series; for positive x."""
    shift = 0.0
    while x < 8.0:
        shift, x = shift - 1.0 / x, x + 1.0
    r = 1.0 / (x * x)
    return shift + math.log(x) - 0.5 / x - r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r / 132))))


UNARY: dict[str, Rule] = {
    "sqrt": (math.sqrt, lambda x, y: 0.5 / y),
    "cbrt": (math.cbrt, lambda x, y: 1 / (3 * y * y)),
    "exp": (math.exp, lambda x, y: y),
    "exp2": (math.exp2, lambda x, y: y * math.log(2)),
    "expm1": (math.expm1, lambda x, y: y + 1),
    "log": (math.log, lambda x, y: 1 / x),
    "log2": (math.log2, lambda x, y: 1 / (x * math.log(2))),
    "log10": (math.log10, lambda x, y: 1 / (x * math.log(10))),
    "log1p": (math.log1p, lambda x, y: 1 / (1 + x)),
    "sin": (math.sin, lambda x, y: math.cos(x)),
    "cos": (math.cos, lambda x, y: -math.sin(x)),
    "tan": (math.tan, lambda x, y: 1 + y * y),
    "asin": (math.asin, lambda x, y: 1 / math.sqrt(1 - x * x)),
    "acos": (math.acos, lambda x, y: -1 / math.sqrt(1 - x * x)),
    "atan": (math.atan, lambda x, y: 1 / (1 + x * x)),
    "sinh": (math.sinh, lambda x, y: math.cosh(x)),
    "cosh": (math.cosh, lambda x, y: math.sinh(x)),
    "tanh": (math.tanh, lambda x, y: 1 - y * y),
    "asinh": (math.asinh, lambda x, y: 1 / math.sqrt(1 + x * x)),
    "acosh": (math.acosh, lambda x, y: 1 / math.sqrt(x * x - 1)),
    "atanh": (math.atanh, lambda x, y: 1 / (1 - x * x)),
    "erf": (math.erf, lambda x, y: 2 / math.sqrt(math.pi) * math.exp(-x * x)),
    "erfc": (math.erfc, lambda x, y: -2 / math.sqrt(math.pi) * math.exp(-x * x)),
    "gamma": (math.gamma, lambda x, y: y * digamma(x)),
    "lgamma": (math.lgamma, lambda x, y: digamma(x)),
}
OF_COMPLEX: dict[str, Callable[[Any], Any]] = {
    name: getattr(cmath, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tanh")
}
COMPLEX_SLOPES: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda x, y: cmath.cos(x),
    "cos": lambda x, y: -cmath.sin(x),
}
ALIASES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
}  # fmt: skip
INTEGER_ROUNDINGS = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}


def chain(name: str) -> Callable[[Any], Any]:
    function, derivative = UNARY[name]

    def apply(x: Any) -> Any:
        value: Any = x.value if isinstance(x, Dual) else x
        is_complex = isinstance(value, complex)
        y = OF_COMPLEX[name](value) if is_complex else function(value)
        if not isinstance(x, Dual):
            return y
        slope = COMPLEX_SLOPES.get(name, derivative) if is_complex else derivative
        return x.made(y, slope(value, y) * x.slope)

    return apply


def partner(*values: Any) -> Dual | None:
    """A `Dual` among `values`, if any."""
    return next((v for v in values if isinstance(v, Dual)), None)


def larger(a: Any, b: Any) -> Any:
    return chosen(a, b, is_least=False)


def smaller(a: Any, b: Any) -> Any:
    return chosen(a, b, is_least=True)


def chosen(a: Any, b: Any, is_least: bool) -> Any:
    """`max` or `min` as loopdiff defines it: a tie shares the slope."""
    some = partner(a, b)
    if some is None:
        return a if (a <= b if is_least else a >= b) else b
    p, q = some.lift(a), some.lift(b)
    some.trace.compare(p, q)
    if p.value == q.value:
        some.trace.has_kink |= p.slope != q.slope
        return Dual(p.value, 0.5 * (p.slope + q.slope), some.trace, p.is_exact and q.is_exact)
    return p if (p.value < q.value) == is_least else q


def largest(*values: Any) -> Any:
    return reduce(larger, values)


def smallest(*values: Any) -> Any:
    return reduce(smaller, values)


def atan2(y: Any, x: Any) -> Any:
    some = partner(y, x)
    if some is None:
        return math.atan2(y, x)
    p, q = some.lift(y), some.lift(x)
    square = p.value**2 + q.value**2
    return some.made(math.atan2(p.value, q.value), (q.value * p.slope - p.value * q.slope) / square)


def angle(z: Any) -> Any:
    if not isinstance(z, Dual):
        return cmath.phase(z)
    slope = (z.value.conjugate() * z.slope).imag / abs(z.value) ** 2
    return z.made(math.atan2(z.value.imag, z.value.real), slope)


def hypot(a: Any, b: Any) -> Any:
    some = partner(a, b)
    if some is None:
        return math.hypot(a, b)
    p, q = some.lift(a), some.lift(b)
    value = math.hypot(p.value, q.value)
    return some.made(value, (p.value * p.slope + q.value * q.slope) / value)


def copysign(a: Any, b: Any) -> Any:
    some = partner(a, b)
    if some is None:
        return math.copysign(a, b)
    p, q = some.lift(a), some.lift(b)
    some.trace.compare(q, q.lift(0.0))
    flips = math.copysign(1.0, p.value) != math.copysign(1.0, q.value)
    return -p if flips else p


def choose(cond: Any, a: Any, b: Any) -> Any:
    return a if cond else b


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of numbers, applied to each element where arguments are arrays."""

    def apply(*args: Any) -> Any:
        if any(isinstance(a, np.ndarray) for a in args):
            return np.frompyfunc(function, len(args), 1)(*args)
        return function(*args)

    return apply


def reduction(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The reduction of arrays by `function`, where NumPy's would not share slopes."""

    def apply(array: np.ndarray, axis: int | None = None) -> Any:
        if axis is None:
            array, axis = array.ravel(), 0
        return np.frompyfunc(function, 2, 1).reduce(array, axis=axis)

    return apply


def keep(x: Any, *_: Any) -> Any:
    return x if isinstance(x, Dual) else float(x)


def sign(x: Any) -> Any:
    return x.made(float((x > 0) - (x < 0)), 0.0) if isinstance(x, Dual) else np.sign(x)


def rounding(function: Callable[[float], float], result: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        return result(x.rounded(function)) if isinstance(x, Dual) else result(function(x))

    return apply


def as_integer(x: Any) -> int:
    return int(x.value) if isinstance(x, Dual) else int(x)


# -- running a function ------------------------------------------------------------------------------------
class Module:
    """`names` over the attributes of a module."""

    def __init__(self, module: Any, names: Mapping[str, Any]) -> None:
        self.__dict__.update({k: getattr(module, k) for k in dir(module) if not k.startswith("_")}, **names)


def filled(shape: Any, fill: Any, dtype: Any) -> np.ndarray:
    """A local array: of `Dual`s if it is floating."""
    is_floating = dtype in (None, keep) or np.dtype(dtype).kind in "fc"
    return np.full(
        shape, float(fill) if is_floating and not isinstance(fill, Dual) else fill, object if is_floating else dtype
    )


def allocators() -> dict[str, Any]:
    def like(a: np.ndarray, fill: Any) -> np.ndarray:
        return np.full(a.shape, fill, a.dtype)

    return {
        "zeros": lambda shape, dtype=None: filled(shape, 0.0, dtype),
        "empty": lambda shape, dtype=None: filled(shape, math.nan if dtype is None else 99, dtype),
        "ones": lambda shape, dtype=None: filled(shape, 1.0, dtype),
        "full": lambda shape, fill, dtype=None: filled(shape, fill, dtype),
        "zeros_like": lambda a: like(a, 0.0),
        "empty_like": lambda a: like(a, math.nan),
        "ones_like": lambda a: like(a, 1.0),
        "full_like": lambda a, fill: like(a, fill),
    }


def stand_ins() -> dict[str, Any]:
    """Globals for a function that runs on dual numbers."""
    functions = {name: chain(name) for name in UNARY}
    functions |= {alias: functions[name] for alias, name in ALIASES.items()}
    functions |= {"atan2": atan2, "arctan2": atan2, "hypot": hypot, "copysign": copysign, "fabs": abs}
    in_numpy = {name: rounding(f, keep) for name, f in INTEGER_ROUNDINGS.items()}
    in_numpy |= {"maximum": larger, "minimum": smallest, "where": choose, "sign": sign, "rint": rounding(round, keep)}
    in_numpy |= {"clip": lambda x, low, high: smallest(larger(x, low), high)}
    in_numpy |= {"angle": angle, "real": lambda x: x.real, "imag": lambda x: x.imag, "abs": abs}
    in_numpy |= {"square": lambda x: x * x, "absolute": abs, "negative": operator.neg, "power": pow}
    for_arrays = {name: elementwise(f) for name, f in (functions | in_numpy).items()}
    for_arrays |= {"max": reduction(larger), "min": reduction(smallest), "float64": keep, "float32": keep}
    in_math = {name: rounding(f, as_integer) for name, f in INTEGER_ROUNDINGS.items()}
    return {
        "math": Module(math, functions | in_math),
        "np": Module(np, for_arrays | allocators()),
        "max": largest,
        "min": smallest,
        "float": keep,
        "complex": lambda re, im=0.0: re + 1j * im,
    }


STAND_INS = stand_ins()


def run_on_duals(
    function: Callable[..., Any], args: Mapping[str, Any], directions: Mapping[str, Any], trace: Trace
) -> tuple[Any, dict[str, Any]]:
    """The result of `function` and its arguments afterwards, floating numbers being `Dual`s."""
    assert isinstance(function, FunctionType)
    doubled = {name: doubled_value(value, directions.get(name, 0.0), trace) for name, value in args.items()}
    names = {**function.__globals__, **STAND_INS}
    return FunctionType(function.__code__, names, function.__name__)(*doubled.values()), doubled


def doubled_value(value: Any, direction: Any, trace: Trace) -> Any:
    if isinstance(value, float | complex):
        return Dual(value, direction, trace, True)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return value.copy() if isinstance(value, np.ndarray) else value
    slopes = np.broadcast_to(direction, value.shape)
    found = np.empty(value.shape, object)
    for place in np.ndindex(value.shape):
        found[place] = Dual(value[place].item(), slopes[place].item(), trace, True)
    return found


def slopes_of(value: Any) -> Any:
    """The slopes of a number or an array of duals; zero where plain numbers were stored."""
    if isinstance(value, np.ndarray):
        slopes = [getattr(v, "slope", 0.0) for v in value.flat]
        kind = complex if any(isinstance(s, complex) for s in slopes) else float
        return np.array(slopes, kind).reshape(value.shape)
    return getattr(value, "slope", 0.0)
