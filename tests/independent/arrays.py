"""Arrays of numbers with derivatives: NumPy's own arrays of objects, so views and aliases are NumPy's.

`NUMPY` and `MATH` are the modules with which a function of arrays runs on them unchanged; see also `functions.py`.
"""

from __future__ import annotations

import math
import operator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import numbers
from .numbers import Number, Undecided, primal

ELEMENTARY = ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")
ELEMENTWISE = {
    **{
        name: getattr(numbers, name)
        for name in [
            "add",
            "subtract",
            "multiply",
            "power",
            "remainder",
            "floor_divide",
            "maximum",
            "minimum",
            "hypot",
            "arctan2",
            "copysign",
            "negative",
            "absolute",
            *ELEMENTARY,
            "arctan",
            "arcsin",
            "arccos",
            "arcsinh",
            "arccosh",
            "arctanh",
            "cbrt",
            "exp2",
            "log2",
            "log10",
            "reciprocal",
            "square",
            "floor",
            "ceil",
            "sign",
        ]
    },
    "divide": numbers.divide,
    "positive": lambda a: a,
}
COMPARISONS = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
OF_ONE = ("sum", "prod", "mean", "max", "min")  # which of a number are the number
OTHER_NAMES = {"abs": "absolute", "pow": "power", "true_divide": "divide", "mod": "remainder"}


def coerced(value: Any) -> Any:
    """What an array of floats holds after `value` is stored: floats and numbers with derivatives."""
    return value if isinstance(value, Number) else float(value)


def taken_in(value: Any) -> Any:
    if isinstance(value, Array):
        return np.asarray(value)
    if isinstance(value, np.ndarray):
        return elementwise(coerced, value.astype(object)) if value.ndim else coerced(value[()])
    return coerced(value)


def elementwise(function: Any, *operands: Any) -> Any:
    """Apply a function of numbers to broadcast operands; the elements of the result are objects."""
    return np.frompyfunc(function, len(operands), 1)(*operands)


def plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Array) else value


def wrapped(result: Any) -> Any:
    """An array of floats from an array of objects, or the number itself."""
    if isinstance(result, np.ndarray) and result.ndim:
        return np.asarray(elementwise(coerced, result), dtype=object).view(Array)
    if isinstance(result, np.ndarray):
        return coerced(result[()])
    return result


class Array(np.ndarray):
    """An array whose elements have derivatives, and are otherwise like those of an array of float64."""

    def __setitem__(self, key: Any, value: Any) -> None:
        np.asarray(self)[key] = taken_in(value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **settings: Any) -> Any:
        if method != "__call__" or settings:
            raise Undecided(f"{ufunc.__name__}.{method} with {sorted(settings)}")
        result = called(ufunc.__name__, inputs)
        if out is None:
            return result
        out[0][...] = result
        return out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        ours = getattr(NUMPY, function.__name__, None)
        if ours is None or ours is function:
            raise Undecided(f"numpy.{function.__name__}")
        return ours(*args, **kwargs)

    def sum(self, *args: Any, **settings: Any) -> Any:
        return reduced(self, total, *args, **settings)

    def prod(self, *args: Any, **settings: Any) -> Any:
        return reduced(self, product, *args, **settings)

    def mean(self, *args: Any, **settings: Any) -> Any:
        return reduced(self, lambda values: total(values) / len(values), *args, **settings)

    def max(self, *args: Any, **settings: Any) -> Any:
        return reduced(self, lambda values: numbers.shared(values, max), *args, **settings)

    def min(self, *args: Any, **settings: Any) -> Any:
        return reduced(self, lambda values: numbers.shared(values, min), *args, **settings)

    def argmax(self, *args: Any, **settings: Any) -> Any:
        return first_of(self, max, *args, **settings)

    def argmin(self, *args: Any, **settings: Any) -> Any:
        return first_of(self, min, *args, **settings)

    def dot(self, *others: Any, **_: Any) -> Any:
        return dot(self, *others)

    def trace(self, *_: Any, **__: Any) -> Any:
        return total([self[i, i] for i in range(min(self.shape))])

    def fill(self, value: Any) -> None:
        self[...] = value

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:
        if is_floating(dtype):
            return self.copy()
        raise Undecided(f"astype({dtype})")


def called(name: str, inputs: tuple[Any, ...]) -> Any:
    operands = [plain(v) for v in inputs]
    if name == "matmul":
        return wrapped(np.matmul(*(np.asarray(v, dtype=object) for v in operands)))
    if name in COMPARISONS:
        result = elementwise(compared(COMPARISONS[name]), *(np.asarray(v, dtype=object) for v in operands))
        return result.astype(bool) if isinstance(result, np.ndarray) else bool(result)
    if name not in ELEMENTWISE:
        raise Undecided(f"numpy.{name}")
    return wrapped(elementwise(ELEMENTWISE[name], *(np.asarray(v, dtype=object) for v in operands)))


def compared(holds: Any) -> Any:
    return lambda a, b: numbers.compare(a, b, holds)


def total(values: list[Any]) -> Any:
    result: Any = 0.0
    for value in values:
        result = result + value
    return result


def product(values: list[Any]) -> Any:
    result: Any = 1.0
    for value in values:
        result = result * value
    return result


def reduced(array: Any, function: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    """Reduce over one axis, several or all, with a function of the list of elements."""
    base = plain(array)
    axes = range(base.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = sorted(a % base.ndim for a in axes)
    kept = [a for a in range(base.ndim) if a not in axes]
    moved = base.transpose(kept + axes).reshape([base.shape[a] for a in kept] + [-1])
    result = np.empty(moved.shape[:-1], dtype=object)
    for place in np.ndindex(*result.shape):
        result[place] = function(list(moved[place]))
    if keepdims:
        result = result.reshape([1 if a in axes else base.shape[a] for a in range(base.ndim)])
    return wrapped(result)


def first_of(array: Any, choose: Any, axis: Any = None, **_: Any) -> Any:
    def function(values: list[Any]) -> int:
        numbers.shared(values, choose)
        floats = [primal(v) for v in values]
        return floats.index(choose(floats))

    base = plain(array)
    if axis is None:
        return function(list(base.reshape(-1)))
    moved = np.moveaxis(base, axis, -1)
    result = np.empty(moved.shape[:-1], dtype=np.int64)
    for place in np.ndindex(*result.shape):
        result[place] = function(list(moved[place]))
    return result if result.ndim else int(result)


def dot(a: Any, b: Any) -> Any:
    return wrapped(np.dot(np.asarray(plain(a), dtype=object), np.asarray(plain(b), dtype=object)))


def einsum(formula: str, *operands: Any) -> Any:
    result = np.einsum(formula, *(np.asarray(plain(v), dtype=object) for v in operands))
    is_view = isinstance(result, np.ndarray) and any(np.may_share_memory(result, plain(v)) for v in operands)
    return result.view(Array) if is_view else wrapped(result)


def is_floating(dtype: Any) -> bool:
    return dtype is to_float or np.dtype(dtype) in (np.dtype(np.float64), np.dtype(object))


def full(shape: Any, value: Any, dtype: Any = None) -> Any:
    if dtype is None and isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return np.full(shape, value)
    if dtype is not None and not is_floating(dtype):
        return np.full(shape, value, dtype)
    result = np.empty(shape, dtype=object).view(Array)
    result[...] = value
    return result


def unset(shape: Any, dtype: Any = np.float64) -> Any:
    """An array whose elements are no numbers until they are stored: what reads them is no program."""
    return np.empty(shape, dtype=object).view(Array) if is_floating(dtype) else np.zeros(shape, dtype)


def like(value: Any) -> Any:
    def make(array: Any, dtype: Any = None) -> Any:
        return full(array.shape, value, array.dtype if dtype is None else dtype)

    return make


def where(condition: Any, a: Any, b: Any) -> Any:
    if not isinstance(a, (Number, Array)) and not isinstance(b, (Number, Array)):
        return np.where(condition, a, b)
    operands = [np.asarray(plain(v), dtype=object) for v in (condition, a, b)]
    return wrapped(elementwise(lambda c, p, q: p if c else q, *operands))


def clip(a: Any, low: Any, high: Any) -> Any:
    return NUMPY.minimum(NUMPY.maximum(a, low), high)


class Function:
    """A NumPy function of numbers and arrays, with `at` as the binary ones have it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *operands: Any) -> Any:
        if not any(isinstance(v, (Number, Array)) for v in operands):
            result = getattr(np, self.name)(*operands)
            return wrapped(result.astype(object)) if getattr(result, "dtype", None) == np.float64 else result
        return called(self.name, operands)

    def at(self, array: Any, index: Any, value: Any) -> None:
        values = np.broadcast_to(np.asarray(plain(value), dtype=object), array[index].shape)
        places = np.arange(array.size).reshape(array.shape)[index]
        flat = np.asarray(array).reshape(-1)
        for place, one in zip(places.reshape(-1), values.reshape(-1), strict=True):
            flat[place] = coerced(called(self.name, (flat[place], one)))
        array[...] = flat.reshape(array.shape)


def method(name: str) -> Any:
    def apply(array: Any, *args: Any, **kwargs: Any) -> Any:
        if name in OF_ONE and isinstance(array, (Number, float)):
            return array
        return getattr(array, name)(*args, **kwargs)

    return apply


def to_float(value: Any) -> Any:
    return value if isinstance(value, Number) else float(value)


def chosen(name: str) -> Any:
    def apply(first: Any, *rest: Any) -> Any:
        for other in rest:
            first = ELEMENTWISE[name](first, other) if involved(first, other) else getattr(np, name)(first, other)
        return first

    return apply


def involved(*operands: Any) -> bool:
    return any(isinstance(v, Number) for v in operands)


NUMPY = SimpleNamespace(
    **{name: Function(name) for name in [*ELEMENTWISE, *COMPARISONS, "matmul", "isnan", "isinf", "logical_not"]},
    **{other: Function(name) for other, name in OTHER_NAMES.items()},
    **{
        name: method(name)
        for name in [
            "sum",
            "prod",
            "mean",
            "max",
            "min",
            "argmax",
            "argmin",
            "any",
            "all",
            "copy",
            "trace",
            "transpose",
            "reshape",
        ]
    },
    **{
        name: getattr(np, name)
        for name in [
            "pi",
            "e",
            "inf",
            "nan",
            "newaxis",
            "int64",
            "int32",
            "bool_",
            "count_nonzero",
            "ndarray",
            "ndindex",
        ]
    },
    s_=np.s_,
    ndenumerate=lambda array: ((place, array[place]) for place in np.ndindex(array.shape)),
    zeros=lambda shape, dtype=np.float64: full(shape, 0.0, dtype),
    ones=lambda shape, dtype=np.float64: full(shape, 1.0, dtype),
    empty=unset,
    full=full,
    zeros_like=like(0.0),
    ones_like=like(1.0),
    empty_like=lambda array, dtype=None: unset(array.shape, array.dtype if dtype is None else dtype),
    full_like=lambda array, value, dtype=None: full(array.shape, value, array.dtype if dtype is None else dtype),
    where=where,
    clip=clip,
    dot=dot,
    inner=lambda a, b: einsum("i,i->" if a.ndim == 1 else "ik,jk->ij", a, b),
    outer=lambda a, b: a[:, None] * b[None, :],
    einsum=einsum,
    float64=to_float,
    errstate=lambda **kinds: nullcontext(),  # what is not finite is refused all the same
)
MATH = SimpleNamespace(
    **{
        name: getattr(numbers, name)
        for name in [
            *ELEMENTARY,
            "erf",
            "hypot",
        ]
    },
    fabs=numbers.absolute,
    pow=numbers.power,
    atan=numbers.arctan,
    atan2=numbers.arctan2,
    floor=lambda a: int(numbers.floor(a)),
    ceil=lambda a: int(numbers.ceil(a)),
    pi=math.pi,
    e=math.e,
    inf=math.inf,
)


def scalar_ufunc(self: Number, ufunc: Any, how: str, *inputs: Any, out: Any = None, **settings: Any) -> Any:
    if how != "__call__" or settings:
        raise Undecided(f"{ufunc.__name__}.{how}")
    result = called(ufunc.__name__, inputs)
    if out is None:
        return result
    out[0][...] = result
    return out[0]


Number.__array_ufunc__ = scalar_ufunc


def objects(value: Any) -> Any:
    """A value, or what is in a list or tuple of values, with arrays of objects for the arrays of numbers."""
    if isinstance(value, (list, tuple)):
        return type(value)(objects(v) for v in value)
    return plain(value)


def has_numbers(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(has_numbers(v) for v in value)
    return isinstance(value, (Number, Array))


def array(value: Any, dtype: Any = None) -> Any:
    if has_numbers(value) or (dtype is not None and is_floating(dtype)):
        return wrapped(np.array(objects(value), dtype=object))
    result = np.array(value, dtype)
    return wrapped(result.astype(object)) if result.dtype == np.float64 else result


def floats_of(array_: Any) -> np.ndarray:
    """The floats below the numbers of an array."""
    return np.asarray(elementwise(primal, np.asarray(plain(array_), dtype=object)), dtype=float)
