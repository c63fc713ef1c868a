"""Named tuples of derivatives, and what a caller may hand in as seeds, cotangents and directions."""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any

import numpy as np

from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.ir.types import ArrayType, ScalarType


@cache
def record_type(title: str, names: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """A named tuple class with these fields; also for names with a leading underscore, and picklable."""
    base = namedtuple(title, names, rename=True)
    body: dict[str, Any] = {
        "__slots__": (), "__reduce__": reduce_record, "__module__": __name__, "_fields": names,
    }  # fmt: skip
    for position, (name, field) in enumerate(zip(names, base._fields, strict=True)):
        if name != field:
            body[name] = property(lambda self, k=position: self[k])
    return type(title, (base,), body)


def record(title: str, names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple.__new__(record_type(title, names), values)


def reduce_record(self: Any) -> tuple[Any, ...]:
    return record, (type(self).__name__, self._fields, tuple(self))


def scalar_of(kind: ScalarType, value: Any) -> Any:
    """A scalar in its own type: a Python float or complex, or NumPy's of half the width."""
    match kind:
        case ScalarType.F32:
            return np.float32(value)
        case ScalarType.C64:
            return np.complex64(value)
        case ScalarType.C128:
            return complex(value)
        case _:
            return float(value)


def checked_scalar(what: str, kind: ScalarType, value: Any, code: str) -> Any:
    """`value` as a scalar of `kind`. Raises ArgumentError with `code` unless it is a number, real for a real `kind`."""
    if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in ("fiubc" if kind.is_complex else "fiub"):
        raise ArgumentError(reject(code, f"{what} is {describe(value)}, expected a number", NOWHERE))
    return scalar_of(kind, value)


def checked_array(what: str, kind: ArrayType, shape: tuple[int, ...], value: Any, code: str) -> np.ndarray:
    """`value` as an array. Raises ArgumentError with `code` unless its shape and dtype fit."""
    array = np.asarray(value)
    if array.shape != shape or not np.can_cast(array.dtype, kind.dtype, "same_kind"):
        expected = f"{kind.dtype} of shape {shape}"
        raise ArgumentError(reject(code, f"{what} is {describe(value)}, expected {expected}", NOWHERE))
    return array


def describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name} of shape {value.shape}"
    return f"a {type(value).__name__}"
