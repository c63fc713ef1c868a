"""Numbers that remember how they were made: a tape for reverse mode, and pairs for forward mode.

Both overload the operators of Python, and take whatever they hold as underlying numbers: a `Taped` of `Dual`s gives
second derivatives. Derivatives at kinks are those of docs/conventions.md.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Pairs = Iterable[tuple["Number", Any]]
LARGEST = 1e6  # of larger numbers so little is left where they cancel that a result may differ by any rounding


class Closeness:
    """Decisions between numbers nearer to each other than `limit` may be others after different rounding."""

    limit = 1e-9


@contextlib.contextmanager
def closeness(limit: float) -> Iterator[None]:
    """Take numbers for close up to another limit, as those of a narrower type are."""
    before, Closeness.limit = Closeness.limit, limit
    try:
        yield
    finally:
        Closeness.limit = before


class Undecided(Exception):
    """The program decides between numbers that rounding could exchange, or leaves what the oracle models."""


class Number:
    """A real number with a derivative; `value` is a float, or a Number of an outer order."""

    __slots__ = ("value",)
    __array_ufunc__: Any = None  # replaced in arrays.py, where elementwise functions are known
    value: Any

    def lift(self, value: Any, pairs: Pairs) -> Number:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return add(self, other)

    def __radd__(self, other: Any) -> Any:
        return add(other, self)

    def __sub__(self, other: Any) -> Any:
        return subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return divide(other, self)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return floor_divide(other, self)

    def __mod__(self, other: Any) -> Any:
        return remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        return remainder(other, self)

    def __neg__(self) -> Any:
        return negative(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return absolute(self)

    def __lt__(self, other: Any) -> Any:
        return compare(self, other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return compare(self, other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return compare(self, other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return compare(self, other, lambda a, b: a >= b)

    def __eq__(self, other: Any) -> Any:
        return compare(self, other, lambda a, b: a == b)

    def __ne__(self, other: Any) -> Any:
        return compare(self, other, lambda a, b: a != b)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return primal(self) != 0.0

    def __int__(self) -> int:
        return int(apart(primal(self)))

    def __round__(self) -> int:
        return round(apart(primal(self) + 0.5) - 0.5)

    def __float__(self) -> float:
        raise Undecided("a number with a derivative is stored where only a float fits")


class Taped(Number):
    """A node of the tape of reverse mode: what it was made from, with the partial derivatives."""

    __slots__ = ("made", "parents")
    counter = itertools.count()

    def __init__(self, value: Any, parents: Pairs = ()) -> None:
        if not abs(primal(value)) <= LARGEST:
            raise Undecided("a number that is not finite, or large")
        self.value = value
        self.parents = tuple(parents)
        self.made = next(Taped.counter)

    def lift(self, value: Any, pairs: Pairs) -> Number:
        return Taped(value, pairs)


class Dual(Number):
    """A number and its change along one direction."""

    __slots__ = ("tangent",)

    def __init__(self, value: Any, tangent: Any) -> None:
        self.value = value
        self.tangent = tangent

    def lift(self, value: Any, pairs: Pairs) -> Number:
        tangent = 0.0
        for operand, partial in pairs:
            if not is_zero(operand.tangent):
                tangent = tangent + partial * operand.tangent
        return Dual(value, tangent)


def is_zero(number: Any) -> bool:
    return not isinstance(number, Number) and number == 0.0


def primal(number: Any) -> float:
    """The float below all derivatives."""
    while isinstance(number, Number):
        number = number.value
    return number


def apart(value: float) -> float:
    """A value that is going to be rounded to an integer, if no rounding of its own could change which."""
    if value != round(value) and abs(value - round(value)) <= Closeness.limit * max(1.0, abs(value)):
        raise Undecided("rounding decides an integer")
    return value


def compare(a: Any, b: Any, holds: Callable[[float, float], bool]) -> Any:
    if not isinstance(b, (Number, int, float)) and not hasattr(b, "dtype"):
        return NotImplemented
    if getattr(b, "shape", ()) != ():
        return NotImplemented
    x, y = primal(a), primal(b)
    if x != y and abs(x - y) <= Closeness.limit * max(1e-3, abs(x), abs(y)):
        raise Undecided("rounding decides a comparison")
    return holds(x, y)


def adjoints(seeds: Iterable[tuple[Any, Any]]) -> dict[int, Any]:
    """The reverse sweep: by node, the derivative of the sum of outputs times seeds."""
    nodes: dict[int, Taped] = {}
    gathered: dict[int, Any] = {}
    for output, seed in seeds:
        if isinstance(output, Taped):
            gathered[output.made] = gathered.get(output.made, 0.0) + seed
            nodes[output.made] = output
    waiting = list(nodes.values())
    while waiting:
        for parent, _ in waiting.pop().parents:
            if isinstance(parent, Taped) and parent.made not in nodes:
                nodes[parent.made] = parent
                waiting.append(parent)
    for made in sorted(nodes, reverse=True):
        adjoint = gathered.get(made, 0.0)
        if is_zero(adjoint):
            continue
        for parent, partial in nodes[made].parents:
            if isinstance(parent, Taped):
                gathered[parent.made] = gathered.get(parent.made, 0.0) + adjoint * partial
    return gathered


def unary(plain: Callable[[float], float], partial: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function of one number; `partial` gets the operand and the result."""

    def apply(a: Any) -> Any:
        if not isinstance(a, Number):
            return plain(a)
        result = apply(a.value)
        return a.lift(result, ((a, partial(a.value, result)),))

    return apply


def binary(plain: Callable[[Any, Any], Any], partials: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Any:
    """A function of two numbers; `partials` gets the operands and the result."""

    def apply(a: Any, b: Any) -> Any:
        numbers = [isinstance(a, Number), isinstance(b, Number)]
        if not any(numbers):
            if not is_scalar(a) or not is_scalar(b):
                return NotImplemented
            return plain(a, b)
        if getattr(a, "shape", ()) != () or getattr(b, "shape", ()) != ():
            return NotImplemented
        x, y = (v.value if isinstance(v, Number) else v for v in (a, b))
        result = apply(x, y)
        both = partials(x, y, result)
        pairs = [(v, p) for v, p, is_number in zip((a, b), both, numbers, strict=True) if is_number]
        return pairs[0][0].lift(result, pairs)

    return apply


def is_scalar(value: Any) -> bool:
    return getattr(value, "shape", ()) == ()


def constant(plain: Callable[..., float]) -> Callable[..., Any]:
    """A step function: its value carries no derivative."""

    def apply(*args: Any) -> Any:
        return plain(*(primal(a) for a in args))

    return apply


def power_partials(a: Any, b: Any, result: Any) -> tuple[Any, Any]:
    by_base = 0.0 if is_zero(b) else b * power(a, b - 1)
    return by_base, (result * log(a) if primal(a) > 0.0 else 0.0)


def real_power(a: Any, b: Any) -> Any:
    result = a**b
    if isinstance(result, complex):
        raise ValueError("power of a negative number")
    return result


def larger(a: float, b: float) -> float:
    return a if a >= b else b


def smaller(a: float, b: float) -> float:
    return a if a <= b else b


def ties(a: Any, b: Any, result: Any) -> tuple[float, float]:
    """Which operand of a maximum or minimum was taken; a tie is shared."""
    x, y, r = primal(a), primal(b), primal(result)
    compare(x, y, lambda p, q: p < q)
    return (0.5, 0.5) if x == y else (float(x == r), float(y == r))


def shared(values: list[Any], choose: Callable[..., float]) -> Any:
    """The maximum or minimum of several, whose derivative all that attain it share."""
    best = choose(primal(v) for v in values)
    attaining = [v for v in values if primal(v) == best]
    for v in values:
        compare(primal(v), best, lambda p, q: p < q)
    numbers = [v for v in attaining if isinstance(v, Number)]
    if not numbers:
        return best
    if len(attaining) == 1:
        return numbers[0]
    value = numbers[0].value if all(v is numbers[0] for v in attaining) else None
    if value is None:
        value = shared([v.value if isinstance(v, Number) else v for v in attaining], choose)
    return numbers[0].lift(value, [(v, 1.0 / len(attaining)) for v in numbers])


add = binary(lambda a, b: a + b, lambda a, b, r: (1.0, 1.0))
subtract = binary(lambda a, b: a - b, lambda a, b, r: (1.0, -1.0))
multiply = binary(lambda a, b: a * b, lambda a, b, r: (b, a))
divide = binary(lambda a, b: a / b, lambda a, b, r: (1.0 / b, -(r / b)))
power = binary(real_power, power_partials)
remainder = binary(
    lambda a, b: apart(a / b) * 0.0 + a % b, lambda a, b, r: (1.0, -float(math.floor(primal(a) / primal(b))))
)
floor_divide = constant(lambda a, b: float(math.floor(apart(a / b))))
maximum = binary(larger, ties)
minimum = binary(smaller, ties)
hypot = binary(math.hypot, lambda a, b, r: (a / r, b / r))
arctan2 = binary(math.atan2, lambda a, b, r: (b / (a * a + b * b), -a / (a * a + b * b)))
copysign = binary(math.copysign, lambda a, b, r: (1.0 if math.copysign(1.0, primal(a) * primal(b)) > 0 else -1.0, 0.0))

negative = unary(lambda a: -a, lambda a, r: -1.0)
absolute = unary(abs, lambda a, r: float(primal(a) > 0.0) - float(primal(a) < 0.0))
exp = unary(math.exp, lambda a, r: r)
expm1 = unary(math.expm1, lambda a, r: r + 1.0)
log = unary(math.log, lambda a, r: 1.0 / a)
log1p = unary(math.log1p, lambda a, r: 1.0 / (1.0 + a))
sqrt = unary(math.sqrt, lambda a, r: 0.5 / r)
sin = unary(math.sin, lambda a, r: cos(a))
cos = unary(math.cos, lambda a, r: -sin(a))
tan = unary(math.tan, lambda a, r: 1.0 + r * r)
sinh = unary(math.sinh, lambda a, r: cosh(a))
cosh = unary(math.cosh, lambda a, r: sinh(a))
tanh = unary(math.tanh, lambda a, r: 1.0 - r * r)
arctan = unary(math.atan, lambda a, r: 1.0 / (1.0 + a * a))
arcsin = unary(math.asin, lambda a, r: 1.0 / sqrt(1.0 - a * a))
arccos = unary(math.acos, lambda a, r: -1.0 / sqrt(1.0 - a * a))
arccosh = unary(math.acosh, lambda a, r: 1.0 / sqrt(a * a - 1.0))
arctanh = unary(math.atanh, lambda a, r: 1.0 / (1.0 - a * a))
cbrt = unary(math.cbrt, lambda a, r: 1.0 / (3.0 * r * r))
exp2 = unary(math.exp2, lambda a, r: math.log(2.0) * r)
log2 = unary(math.log2, lambda a, r: 1.0 / (math.log(2.0) * a))
log10 = unary(math.log10, lambda a, r: 1.0 / (math.log(10.0) * a))
reciprocal = unary(lambda a: 1.0 / a, lambda a, r: -r * r)
arcsinh = unary(math.asinh, lambda a, r: 1.0 / sqrt(1.0 + a * a))
erf = unary(math.erf, lambda a, r: 2.0 / math.sqrt(math.pi) * exp(-(a * a)))
square = unary(lambda a: a * a, lambda a, r: 2.0 * a)
floor = constant(lambda a: float(math.floor(apart(a))))
ceil = constant(lambda a: float(math.ceil(apart(a))))
sign = constant(lambda a: float(a > 0) - float(a < 0))
