"""Errors of the vector functions in units in the last place, against mpmath; writes the table of docs/accuracy.md.

    python examples/bench/accuracy.py

The points are dense (equally spaced over the range of the function, and again over its inner part) and random (equally
likely in every decade, both signs). The error is that of the computed value from the exact one, in the spacing of
floating-point numbers there: a correctly rounded result is at most 0.5.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

from functions import NAMES, kernel  # noqa: E402
from report import between, table  # noqa: E402

from loopdiff.backends.cpu import simd  # noqa: E402
from loopdiff.backends.cpu.vector_math.functions import BINARY, OWN  # noqa: E402

DENSE, RANDOM = 1500, 1500
PAGE = ROOT / "docs" / "accuracy.md"
DTYPES = ("float64", "float32")
METHODS = ("default", "own", "high")
BITS = 140

EXACT: dict[str, Any] = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "pow": mpmath.power,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.root(abs(x), 3),
}


class Range(NamedTuple):
    """Where a function is tested in float64 and float32: the ends, and those of its inner part."""

    wide: tuple[float, float]
    narrow: tuple[float, float]
    inner: tuple[float, float] = (-1.0, 1.0)

    def ends(self, dtype: str) -> tuple[float, float]:
        return self.wide if dtype == "float64" else self.narrow


POSITIVE = Range((1e-300, 1e300), (1e-37, 1e37), (0.5, 2.0))
RANGES: dict[str, Range] = {
    "exp": Range((-708, 709), (-86, 88)),
    "exp2": Range((-1021, 1023), (-125, 127)),
    "expm1": Range((-40, 709), (-40, 88)),
    "log": POSITIVE,
    "log2": POSITIVE,
    "log1p": Range((-0.9999, 1e300), (-0.9999, 1e37), (-0.5, 1.0)),
    "sin": Range((-1e5, 1e5), (-1e4, 1e4), (-4.0, 4.0)),
    "cos": Range((-1e5, 1e5), (-1e4, 1e4), (-4.0, 4.0)),
    "tan": Range((-1e5, 1e5), (-1e4, 1e4), (-1.5, 1.5)),
    "tanh": Range((-20, 20), (-10, 10)),
    "atan": Range((-1e15, 1e15), (-1e15, 1e15), (-2.0, 2.0)),
    "atan2": Range((-1e5, 1e5), (-1e5, 1e5), (-2.0, 2.0)),
    "erf": Range((-6, 6), (-4, 4), (-1.5, 1.5)),
    "cbrt": Range((-1e300, 1e300), (-1e37, 1e37), (-8.0, 8.0)),
    "pow": Range((1e-80, 1e80), (1e-12, 1e12), (0.5, 2.0)),
    "hypot": Range((-1e100, 1e100), (-1e15, 1e15), (-2.0, 2.0)),
}


@cache
def points(name: str, dtype: str, dense: int = DENSE, random: int = RANDOM) -> tuple[np.ndarray, np.ndarray]:
    """Arguments; the second ones are for functions of two."""
    low, high = RANGES[name].ends(dtype)
    inner = RANGES[name].inner
    rng = np.random.default_rng(11)
    tiny = max(low, 0.0) or (1e-30 if dtype == "float64" else 1e-12)
    sizes = np.exp(rng.uniform(np.log(tiny), np.log(high), random))
    signs = np.where((rng.random(random) < 0.5) & (-sizes >= low), -1.0, 1.0)
    x = np.concatenate([np.linspace(low, high, dense // 2), np.linspace(*inner, dense // 2), sizes * signs])
    y = np.concatenate([rng.uniform(-3.0, 3.0, dense), rng.permutation(sizes)])
    if name == "pow":
        y = rng.uniform(-3.0, 3.0, x.size)
        near_one = slice(dense // 2, 2 * (dense // 2))  # whose powers are to range from underflow to overflow
        y[near_one] *= (230.0 if dtype == "float64" else 28.0) / np.maximum(np.abs(np.log(x[near_one])), 1e-3)
    return x[: dense + random].astype(dtype), y[: dense + random].astype(dtype)


@cache
def exact(name: str, dtype: str, dense: int = DENSE, random: int = RANDOM) -> tuple[Any, ...]:
    """The true values at `points`, to `BITS` bits."""
    x, y = points(name, dtype, dense, random)
    function = EXACT.get(name) or getattr(mpmath, name)
    with mpmath.workprec(BITS):
        arguments = zip(x, y, strict=True) if name in BINARY else ((v,) for v in x)
        return tuple(function(*(mpmath.mpf(float(v)) for v in values)) for values in arguments)


def computed(name: str, method: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    width = simd.host_width(str(x.dtype))
    padded = [np.concatenate([v, np.ones(-v.size % width, v.dtype)]) for v in (x, y)]
    out = np.empty_like(padded[0])
    compiled(name, method, width)(*padded, out)
    return out[: x.size]


@cache
def compiled(name: str, method: str, width: int) -> Any:
    return kernel(name, "auto" if method == "default" else method, width)


def worst(name: str, method: str, dtype: str, dense: int = DENSE, random: int = RANDOM) -> float:
    """The largest error in units in the last place, where the result is a normal number."""
    x, y = points(name, dtype, dense, random)
    got = computed(name, method, x, y)
    limits = np.finfo(got.dtype)
    most = 0.0
    with mpmath.workprec(BITS):
        for result, true in zip(got, exact(name, dtype, dense, random), strict=True):
            if not float(limits.tiny) <= abs(true) <= float(limits.max):
                continue
            unit = np.spacing(got.dtype.type(abs(float(true))))
            most = max(most, float(abs(mpmath.mpf(float(result)) - true) / mpmath.mpf(float(unit))))
    return most


def errors(dense: int = DENSE, random: int = RANDOM) -> dict[str, dict[str, float]]:
    """By function, then by `method dtype`."""
    return {
        name: {
            f"{method} {dtype}": worst(name, method, dtype, dense, random)
            for dtype in DTYPES
            for method in METHODS
            if method != "own" or name in OWN
        }
        for name in NAMES
    }


def error_table(found: Mapping[str, Mapping[str, float]]) -> str:
    header = [f"{method} {dtype}" for dtype in DTYPES for method in METHODS]
    lines = [[name, *(f"{row[h]:.2f}" if h in row else "-" for h in header)] for name, row in found.items()]
    return table(["function", *header], lines)


if __name__ == "__main__":
    PAGE.write_text(between(PAGE.read_text(), "accuracy", error_table(errors())))
