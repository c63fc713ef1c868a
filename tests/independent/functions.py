"""NumPy's functions of arrays of numbers with derivatives: NumPy's own where they move or add."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import numbers
from .arrays import (
    MATH,
    NUMPY,
    Array,
    array,
    chosen,
    elementwise,
    floats_of,
    full,
    has_numbers,
    objects,
    plain,
    reduced,
    to_float,
    total,
    wrapped,
)
from .linalg import LINALG
from .numbers import Undecided, compare, primal
from .structures import RECORDS

MOVING = """
diag diagonal flip flipud fliplr rot90 roll repeat tile concatenate stack hstack vstack column_stack triu tril
diff ediff1d cumsum cumprod convolve trapezoid kron cross vander tensordot squeeze ravel swapaxes
"""


def moving(name: str) -> Callable[..., Any]:
    """NumPy's function on arrays of objects, which moves, adds and multiplies elements."""

    def apply(*args: Any, **settings: Any) -> Any:
        result = getattr(np, name)(*objects(args), **{k: objects(v) for k, v in settings.items()})
        if any(isinstance(v, Array) and np.may_share_memory(result, plain(v)) for v in args):
            return result.view(Array)
        if has_numbers(args) or has_numbers(tuple(settings.values())):
            return wrapped(result)
        return wrapped(result.astype(object)) if result.dtype == np.float64 else result

    return apply


def made(name: str) -> Callable[..., Any]:
    """NumPy's function of integers that makes an array."""

    def apply(*args: Any, **settings: Any) -> Any:
        result = getattr(np, name)(*args, **settings)
        return wrapped(result.astype(object)) if result.dtype == np.float64 else result

    return apply


def asarray(value: Any, dtype: Any = None) -> Any:
    return value if isinstance(value, Array) else array(value, dtype)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    step = (stop - start) / (num - 1 if endpoint else num) if num > 1 else 0.0
    return array([start + k * step for k in range(num)])


def far_apart(values: Any) -> None:
    """Nothing may be decided by the rounding of values in order."""
    for a, b in itertools.pairwise(values):
        compare(a, b, lambda p, q: p < q)


def argsort(a: Any, axis: int = -1, kind: Any = None) -> Any:
    places = np.argsort(floats_of(a), axis=axis, kind="stable")
    moved = np.moveaxis(np.take_along_axis(np.asarray(plain(a)), places, axis), axis, -1)
    for row in moved.reshape(-1, moved.shape[-1]):
        far_apart(row)
    return places


def sort(a: Any, axis: int = -1) -> Any:
    return wrapped(np.take_along_axis(np.asarray(plain(a)), argsort(a, axis), axis))


def median(a: Any, axis: Any = None) -> Any:
    if axis not in (None, tuple(range(a.ndim))):
        return reduced(a, lambda values: median(array(values)), axis)
    values = sort(a.reshape(-1))
    n = len(values)
    return values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2.0


def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    for edge in np.ravel(plain(a)):
        for value in np.ravel(plain(v)):
            compare(edge, value, lambda p, q: p < q)
    result = np.searchsorted(floats_of(a), floats_of(v), side=side)
    return result if np.ndim(plain(v)) else int(result)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    return searchsorted(bins, x, "left" if right else "right")


def interp(x: Any, xp: Any, fp: Any) -> Any:
    far_apart(xp)
    k = searchsorted(xp, x, "right")
    if k == 0:
        return fp[0]
    if k == len(xp):
        return fp[-1]
    return fp[k - 1] + (fp[k] - fp[k - 1]) * ((x - xp[k - 1]) / (xp[k] - xp[k - 1]))


def histogram(a: Any, bins: int = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    values = floats_of(a).reshape(-1)
    low, high = (values.min(), values.max()) if range is None else floats_of(range)
    edges = np.linspace(low, high, bins + 1)
    result = [0.0 if weights is not None else 0] * bins
    for i, value in enumerate(values):
        for edge in edges[1:-1]:
            compare(value, edge, lambda p, q: p < q)
            if value == edge:
                raise Undecided("rounding decides a bin")
        if low <= value <= high:
            at = min(int(np.searchsorted(edges, value, side="right")) - 1, bins - 1)
            result[at] = result[at] + (1 if weights is None else weights.reshape(-1)[i])
    return array(result), array(list(edges))


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    if weights is None:
        return np.bincount(x, minlength=minlength)
    result = full(max(minlength, int(x.max()) + 1), 0.0)
    for place, weight in zip(x, weights, strict=True):
        result[place] = result[place] + weight
    return result


def gradient(a: Any, spacing: Any = 1.0, axis: Any = None) -> Any:
    if a.ndim == 1 or axis is not None:
        moved = np.moveaxis(np.asarray(plain(a)), -1 if axis is None else axis, 0)
        inner = [(moved[i + 1] - moved[i - 1]) / (2.0 * spacing) for i in range(1, len(moved) - 1)]
        rows = [(moved[1] - moved[0]) / spacing, *inner, (moved[-1] - moved[-2]) / spacing]
        return wrapped(np.moveaxis(np.array(rows, dtype=object), 0, -1 if axis is None else axis))
    return [gradient(a, spacing, k) for k in range(a.ndim)]


def outer(a: Any, b: Any) -> Any:
    return a.reshape(-1)[:, None] * b.reshape(-1)[None, :]


def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return a.mean(axis=axis)
    if weights.ndim < a.ndim and axis is not None:
        weights = np.expand_dims(plain(weights), [k for k in range(a.ndim) if k != axis % a.ndim]).view(Array)
    weights = weights + 0.0 * a
    return (a * weights).sum(axis=axis) / weights.sum(axis=axis)


def variance(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    n = a.size if axis is None else a.shape[axis]
    distance = a - a.mean(axis=axis, keepdims=True)
    return (distance * distance).sum(axis=axis, keepdims=keepdims) / (n - ddof)


def deviation(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    return np.sqrt(variance(a, axis, ddof, keepdims))


def cov(a: Any) -> Any:
    distance = a - a.mean(axis=1, keepdims=True)
    return distance @ distance.T / (a.shape[1] - 1.0)


def polyval(p: Any, x: Any) -> Any:
    result: Any = 0.0
    for coefficient in p:
        result = result * x + coefficient
    return result


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    return abs(a - b) <= atol + rtol * abs(b)


def logaddexp(a: Any, b: Any) -> Any:
    high = np.maximum(a, b)
    low = np.minimum(a, b)
    return high + np.log1p(np.exp(low - high))


def sinc_of_one(a: Any) -> Any:
    return numbers.sin(math.pi * a) / (math.pi * a)


def heaviside_of_one(a: Any, b: Any) -> Any:
    value = primal(a)
    compare(value, 0.0, lambda p, q: p < q)
    return float(value > 0.0) if value else b


def by_element(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*operands: Any) -> Any:
        return wrapped(elementwise(function, *(np.asarray(objects(v), dtype=object) for v in operands)))

    return apply


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: moving(name) for name in MOVING.split()},
    **{name: made(name) for name in ("eye", "identity", "tri", "arange")},
    **{
        f.__name__: f
        for f in (array, asarray, linspace, argsort, sort, median, searchsorted, digitize, interp, histogram)
    },
    **{f.__name__: f for f in (bincount, gradient, outer, average, cov, logaddexp, polyval, isclose)},
    "var": variance,
    "std": deviation,
    "ptp": lambda a, axis=None: a.max(axis=axis) - a.min(axis=axis),
    "nansum": lambda a, axis=None: a.sum(axis=axis),
    "nanmean": lambda a, axis=None: a.mean(axis=axis),
    "vdot": lambda a, b: total(list((a.reshape(-1) * b.reshape(-1)).reshape(-1))),
    "sinc": by_element(sinc_of_one),
    "heaviside": by_element(heaviside_of_one),
    "deg2rad": lambda a: a * (math.pi / 180.0),
    "rad2deg": lambda a: a * (180.0 / math.pi),
    "nan_to_num": lambda a: a * 1.0,
    "fmax": lambda a, b: np.maximum(a, b),
    "fmin": lambda a, b: np.minimum(a, b),
}


def gone_through(shared_by: Callable[..., float], of_numbers: Callable[..., Any]) -> Callable[..., Any]:
    """Python's `max` and `min`, of numbers one by one or of what is gone through, whose derivative all share."""

    def apply(*operands: Any) -> Any:
        return of_numbers(*operands) if len(operands) > 1 else numbers.shared(list(operands[0]), shared_by)

    return apply


vars(NUMPY).update(FUNCTIONS, linalg=SimpleNamespace(**LINALG))
Array.var, Array.std = variance, deviation
Array.cumsum, Array.cumprod = FUNCTIONS["cumsum"], FUNCTIONS["cumprod"]


def namespace() -> dict[str, Any]:
    """The globals of a program that is run on numbers with derivatives."""
    return {
        "__name__": "program",
        "np": NUMPY,
        "math": MATH,
        "max": gone_through(max, chosen("maximum")),
        "min": gone_through(min, chosen("minimum")),
        "float": to_float,
        **RECORDS,
    }
