"""Emulated kernels in plain Python: the generated text without Numba, for many small programs.

Numbers are NumPy's, functions of `math` are those of NumPy that behave like the hardware's, and nothing raises for
infinity or NaN.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.special

from loopdiff.backends.cpu import scalar_math
from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.common_functions import CHECKED_FUNCTIONS
from loopdiff.backends.cuda.compile import emulated_text
from loopdiff.backends.load import CompiledFunction
from loopdiff.errors import ArgumentError
from loopdiff.ir import nodes as ir
from loopdiff.ir import scalar_eval
from loopdiff.mapping.launches import LaunchPlan
from loopdiff.passes.storage.workspace import own_arrays
from loopdiff.pipeline.cuda import launch_plan_of
from loopdiff.settings.requests import Requests
from loopdiff.specialize import specialization
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import Plan, Unit

WARP = 32


def greater(a: Any, b: Any) -> Any:
    return a if a > b or a != a else b


def smaller(a: Any, b: Any) -> Any:
    return a if a < b or a != a else b


COMBINE: dict[str, Callable[[Any, Any], Any]] = {"add": lambda a, b: a + b, "max": greater, "min": smaller}


def over_block(combine: Callable[[Any, Any], Any]) -> Callable[[np.ndarray], Any]:
    """The tree that shuffles make: halves within warps, then of the warps."""

    def halved(values: list[Any]) -> Any:
        while len(values) > 1:
            half = len(values) // 2
            values = [combine(values[k], values[k + half]) for k in range(half)]
        return values[0]

    return lambda lanes: halved([halved(list(lanes[k : k + WARP])) for k in range(0, len(lanes), WARP)])


def finished(combine: Callable[[Any, Any], Any]) -> Callable[..., None]:
    def finish(parts: np.ndarray, lanes: np.ndarray, neutral: Any, target: np.ndarray) -> None:
        for lane in range(lanes.size):
            value = neutral
            for part in parts[lane :: lanes.size]:
                value = combine(value, part)
            lanes[lane] = value
        target[0] = combine(target[0], over_block(combine)(lanes))

    return finish


def scan(offsets: np.ndarray) -> None:
    offsets[:] = np.concatenate(([0], np.cumsum(offsets)[:-1]))


def add_listed(places: np.ndarray, values: np.ndarray, target: np.ndarray, before_first: int, width: int) -> None:
    for place in np.unique(places[places > 0]):
        row = (before_first + place - 1) * width
        target.flat[row : row + width] += values.reshape(places.size, width)[places == place].sum(0)


def clear_rows(array: np.ndarray, first: int, end: int) -> None:
    array[first:end] = 0


def special(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: type(x)(function(x)) if isinstance(x, np.floating) else np.float64(function(x))


MATH = SimpleNamespace(
    **{n: getattr(np, n) for n in ("exp", "expm1", "log", "log10", "log1p", "sin", "cos", "tan", "sqrt")},
    **{n: getattr(np, n) for n in ("sinh", "cosh", "tanh", "hypot", "copysign", "isnan", "isinf", "isfinite")},
    **{n: getattr(np, f"arc{n[1:]}") for n in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")},
    erf=special(math.erf), erfc=special(math.erfc), gamma=special(scipy.special.gamma),
    lgamma=special(scipy.special.gammaln), pow=operator.pow,
)  # fmt: skip


class Poisoned(ModuleType):
    """NumPy, whose empty arrays hold what nobody would take for a value, and which converts as hardware does."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def uint64(value: Any) -> Any:
        """As hardware does it: the index of an iteration that does nothing may be negative."""
        return np.uint64(int(value) & 0xFFFFFFFFFFFFFFFF)

    @staticmethod
    def empty(shape: Any, dtype: Any) -> np.ndarray:
        found = np.empty(shape, dtype)
        found[...] = np.nan if found.dtype.kind == "f" else True if found.dtype.kind == "b" else np.iinfo(dtype).max
        return found


ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv)
NAMES: dict[str, Any] = {
    "np": Poisoned("np"), "math": MATH, "ArgumentError": ArgumentError, "at": int, "max2": greater, "min2": smaller,
    "digamma": scalar_eval.digamma, "trigamma": scalar_eval.trigamma, "strong_mul": scalar_eval.strong_product,
    **{n: getattr(scalar_math, f"{n}").py_func for n in ("floordiv_int", "mod_int", "pow_int", "shl_int", "shr_int")},
    **CHECKED_FUNCTIONS,
    **{
        f"{n}_{kind}": getattr(np, n)
        for n in ("floor", "ceil", "trunc", "rint", "cbrt", "exp2", "fmod", "sign")
        for kind in ("f64", "f32", "i64")
    },
    **{
        f"strict_{name}{kind}": function
        for name, function in zip(("add", "sub", "mul", "div"), ARITHMETIC, strict=True)
        for kind in ("", "_f64", "_f32")
    },
    **{f"block_{op}": over_block(combine) for op, combine in COMBINE.items()},
    **{f"finish_{op}": finished(combine) for op, combine in COMBINE.items()},
    "scan": scan, "add_listed": add_listed, "clear_rows": clear_rows, "of_first_lane": lambda value: value,
}  # fmt: skip


def in_plain_python(text: str, name: str) -> Callable[..., Any]:
    """The function `name` of a generated module, without what it imports or is decorated with."""
    tree = ast.parse(text)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    for function in functions:
        function.decorator_list = []
    namespace = {"__builtins__": builtins, **NAMES}
    exec(compile(ast.Module(functions, []), f"<{name}>", "exec"), namespace)
    found = namespace[name]

    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return found(*args)

    return call


@lru_cache(8)
def plan(ls: ir.LoopSet, style: Style, requests: Requests = specialization.NOTHING) -> LaunchPlan:
    """The plan of a sweep, once for all that is made of it."""
    return launch_plan_of(ls, style, requests)


@dataclass
class Order:
    """In which order threads run, of functions that `emulating` has made and that are called from now on."""

    is_backwards: bool = False

    def both(self) -> Iterator[bool]:
        """Once in order, and once backwards."""
        for self.is_backwards in (False, True):
            yield self.is_backwards


@contextmanager
def emulating() -> Iterator[Order]:
    """What a decorated function would compile in this context runs as kernels in plain Python, then and later."""
    order = Order()

    def emulated(plan: LaunchPlan, style: Style) -> Callable[..., Any]:
        @cache
        def made(is_backwards: bool) -> Callable[..., Any]:
            text = emulated_text(plan, style, cache=False, is_backwards=is_backwards)
            return in_plain_python(text, plan.ls.name)

        return lambda *args: made(order.is_backwards)(*args)

    with running(emulated):
        yield order


@contextmanager
def running(made: Callable[[LaunchPlan, Style], Callable[..., Any]]) -> Iterator[None]:
    """What a decorated function would compile in this context is what is `made` of its plan, then and later."""

    def unit(
        spec: Specialization, label: str, ls: ir.LoopSet, requests: Requests = specialization.NOTHING,
        reader: ir.LoopSet | None = None,
    ) -> Unit:  # fmt: skip
        style = Style(spec.options.fastmath, spec.options.accuracy, own_arrays(ls, reader))
        planned = plan(ls, style, requests) if requests.items else plan(ls, style)
        return Unit(ls, CompiledFunction(ls.name, made(planned, style), "", Path()))

    def in_rows(spec: Specialization, plan: Plan, asked: object) -> Plan:
        return plan

    def kept(spec: Specialization, name: str, make: Callable[[], Any]) -> Any:
        """Neither are rows for CPUs taken from disk, nor is put there what is none."""
        return spec.once(name, make) if "rows" in name else kept_on_disk(spec, name, make)

    kept_on_disk = Specialization.kept
    with (
        patch.object(Specialization, "unit", unit),
        patch.object(Specialization, "kept", kept),
        patch.object(Specialization, "in_rows", in_rows),
        patch.object(Specialization, "one_pass_loops", property(lambda spec: None)),
        patch.object(specialization, "arrange_primal_rows", lambda normal, requests, stages: normal),
    ):
        yield
