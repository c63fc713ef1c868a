"""Numbers with slopes along several directions at once, for gradients in programs that are differentiated themselves.

Each derivative that is taken has a level of its own, so that what comes from outside of it is a constant there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from loopdiff.fuzz.duals import Module, filled

CLOSE = 1e-9  # numbers that are no further apart may be in another order after other rounding
levels = count(1)


class CloseError(Exception):
    """Rounding may decide otherwise elsewhere: the run is no evidence."""


class Jet:
    """`value + slope * epsilon` of one level; both are floats or jets of lower levels."""

    __slots__ = ("level", "slope", "value")

    def __init__(self, level: int, value: Any, slope: Any) -> None:
        self.level, self.value, self.slope = level, value, slope

    def __add__(self, other: Any) -> Any:
        return of_two(self, other, lambda a, b: a + b, lambda a, b: (1.0, 1.0))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return of_two(self, other, lambda a, b: a - b, lambda a, b: (1.0, -1.0))

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        return of_two(self, other, lambda a, b: a * b, lambda a, b: (b, a))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return of_two(self, other, lambda a, b: a / b, lambda a, b: (1.0 / b, -a / (b * b)))

    def __rtruediv__(self, other: Any) -> Any:
        return self**-1 * other

    def __pow__(self, power: Any) -> Any:
        """To the power of a constant."""
        if power == 0:
            return 1.0
        return Jet(self.level, self.value**power, power * self.value ** (power - 1) * self.slope)

    def __neg__(self) -> Jet:
        return Jet(self.level, -self.value, -self.slope)

    def __abs__(self) -> Any:
        return self if self > 0.0 else -self

    def __lt__(self, other: Any) -> bool:
        return apart(self, other) < 0.0

    def __le__(self, other: Any) -> bool:
        return apart(self, other) <= 0.0

    def __gt__(self, other: Any) -> bool:
        return apart(self, other) > 0.0

    def __ge__(self, other: Any) -> bool:
        return apart(self, other) >= 0.0


def plain_number(value: Any) -> Any:
    """The float below all slopes."""
    while isinstance(value, Jet):
        value = value.value
    return value


def apart(a: Any, b: Any) -> float:
    """The difference of two numbers. Raises CloseError if rounding may change its sign."""
    gap = plain_number(a) - plain_number(b)
    if abs(gap) <= CLOSE:
        raise CloseError
    return gap


def slope_at(level: int, value: Any) -> Any:
    """What a number changes by at a level."""
    return value.slope if isinstance(value, Jet) and value.level == level else 0.0


def value_at(level: int, value: Any) -> Any:
    return value.value if isinstance(value, Jet) and value.level == level else value


def of_two(a: Any, b: Any, function: Callable[[Any, Any], Any], partials: Callable[[Any, Any], Any]) -> Any:
    """A function of two numbers, of which the first is a jet."""
    if isinstance(b, np.ndarray):
        return NotImplemented
    level = max(a.level, b.level if isinstance(b, Jet) else 0)
    p, q = value_at(level, a), value_at(level, b)
    by_first, by_second = partials(p, q)
    return Jet(level, function(p, q), by_first * slope_at(level, a) + by_second * slope_at(level, b))


SLOPES: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda x, y: of_one("cos")(x),
    "cos": lambda x, y: -of_one("sin")(x),
    "tanh": lambda x, y: 1.0 - y * y,
    "exp": lambda x, y: y,
    "log": lambda x, y: 1.0 / x,
    "sqrt": lambda x, y: 0.5 / y,
    "arctan": lambda x, y: 1.0 / (1.0 + x * x),
}


def of_one(name: str) -> Callable[[Any], Any]:
    """An elementary function of numbers."""

    def apply(x: Any) -> Any:
        if not isinstance(x, Jet):
            return getattr(math, "atan" if name == "arctan" else name)(x)
        y = apply(x.value)
        return Jet(x.level, y, SLOPES[name](x.value, y) * x.slope)

    return apply


def of_arrays(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """`function` of numbers, of each element where arguments are arrays."""
    return np.frompyfunc(function, count, 1)


def objects(value: Any) -> Any:
    """A new array that holds numbers of any kind."""
    return np.array(value, object)


NAMES = {name: of_arrays(of_one(name), 1) for name in SLOPES} | {
    "maximum": of_arrays(lambda a, b: a if apart(a, b) > 0.0 else b, 2),
    "minimum": of_arrays(lambda a, b: b if apart(a, b) > 0.0 else a, 2),
    "where": of_arrays(lambda c, a, b: a if c else b, 3),
    "array": objects,
    "zeros": lambda shape: filled(shape, 0.0, None),
    "ones": lambda shape: filled(shape, 1.0, None),
    "zeros_like": lambda a: np.full(a.shape, 0.0, object),
    "abs": abs,
}
NUMPY = Module(np, NAMES)
MATH = Module(math, {name: of_one(name) for name in SLOPES} | {"atan": of_one("arctan")})
