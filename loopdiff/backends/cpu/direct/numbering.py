"""Value numbering: what integers were worked out before is not written again.

Extents and bounds of long programs are long formulas of few numbers, and stand in every loop. LLVM would find that they
are equal, at a price. A value is found where the block that it was written in is on every way to where it is asked for:
in the suite of its statement, after it, and in suites inside.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir as llvm
from numba.core import types
from numba.core.extending import _Intrinsic

from .operators import ARITHMETIC, DIVISIONS, RELATIONS

NUMBERS = (types.Integer, types.Boolean)
OPERATORS = frozenset((
    *ARITHMETIC, *RELATIONS, *DIVISIONS, operator.neg, operator.and_, operator.or_, builtins.max, builtins.min,
))  # fmt: skip
PURE = ("loopdiff.backends.cpu.scalar_math", "loopdiff.backends.cpu.simd.")


class Numbering:
    """Values by what they are made of, for each suite around."""

    def __init__(self) -> None:
        self.suites: list[dict[Any, Any]] = [{}]

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Code that need not run: nothing after it may use what it works out."""
        self.suites.append({})
        yield
        self.suites.pop()

    def find(self, key: Any) -> Any:
        """The value that was noted for `key`; None if there is none, or no key."""
        return None if key is None else next((s[key] for s in reversed(self.suites) if key in s), None)

    def note(self, key: Any, value: Any) -> Any:
        if key is not None:
            self.suites[-1][key] = value
        return value


def key_of_call(called: Any, values: Sequence[Any]) -> Any:
    """What a call is known by; None unless it is of numbers alone, and gives the same for the same."""
    signature = called.signature
    if not values or not all(isinstance(t, NUMBERS) for t in signature.args) or not is_pure(called.function):
        return None
    return (called.function, signature, *map(number_of, values))


def number_of(value: Any) -> Any:
    """Equal for values that are the same."""
    return (str(value.type), value.constant) if isinstance(value, llvm.Constant) else id(value)


def is_pure(function: Any) -> bool:
    """Whether what `function` makes of numbers depends on nothing else, and doing so once is enough."""
    match function:
        case types.NumberClass():
            return True
        case types.Dispatcher():
            return function.dispatcher.py_func.__module__.startswith(PURE)
        case types.Function(typing_key=_Intrinsic() as found):
            return found._defn.__module__.startswith(PURE)
        case _:
            return function in OPERATORS
