"""Tensors as the NumPy arrays and numbers that compiled code takes, and back, over the same memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.frontend.capture import ArgumentType, ScalarArgument, argument_type
from loopdiff.frontend.extents import small_axes
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import NUMBER_TYPES, ArrayType, ScalarType

DTYPES = {name: getattr(torch, name) for name in NUMBER_TYPES}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
NUMBER_DTYPES = {
    ScalarType.BOOL: torch.bool, ScalarType.INT: torch.int64, ScalarType.F32: torch.float32,
    ScalarType.F64: torch.float64,
}  # fmt: skip
NUMBERS: dict[ScalarType, Callable[[Any], Any]] = {
    ScalarType.BOOL: bool, ScalarType.INT: int, ScalarType.F32: np.float32, ScalarType.F64: float,
}  # fmt: skip
PLAIN = (torch.Tensor, torch.nn.Parameter)


def type_of_tensor(name: str, value: torch.Tensor) -> ArgumentType:
    """loopdiff's type of a tensor in rows. Raises ArgumentError (LD350) for what it does not compile, by name."""
    if value.layout is not torch.strided:
        message = f"`{name}` is {str(value.layout).removeprefix('torch.')}, not a dense tensor"
        raise ArgumentError(reject("LD350", message, NOWHERE, "pass its values, and its indices as integers"))
    dtype = NAMES.get(value.dtype)
    if dtype is None:
        found = str(value.dtype).removeprefix("torch.")
        message = f"`{name}` has dtype {found}, which loopdiff does not compile"
        hint = f"convert it: `{name}.float()`" if value.dtype in (torch.float16, torch.bfloat16) else None
        raise ArgumentError(reject("LD350", message, NOWHERE, hint))
    if value.ndim:
        return ArrayType(dtype, value.ndim, "C", small_axes(value.shape))
    return ScalarArgument(NUMBER_TYPES[dtype])


def type_of_operand(name: str, value: Any) -> ArgumentType:
    """loopdiff's type of a tensor or a Python number. Raises ArgumentError (LD350)."""
    if isinstance(value, torch.Tensor):
        return type_of_tensor(name, value)
    try:
        return argument_type(value)
    except TypeError:
        message = f"`{name}` is a {type(value).__name__}, not a tensor or a number"
        raise ArgumentError(reject("LD350", message, NOWHERE)) from None


def numpy_of(tensor: torch.Tensor) -> np.ndarray:
    """The memory of a tensor as an array; a copy where PyTorch has put off a negation or a conjugation."""
    bare = tensor.detach()
    if bare.is_neg() or bare.is_conj():
        bare = bare.resolve_conj().resolve_neg()
    return bare.numpy()


def in_rows(array: np.ndarray) -> np.ndarray:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def in_columns(array: np.ndarray) -> np.ndarray:
    return array if array.flags.f_contiguous else np.asfortranarray(array)


def unchanged(array: np.ndarray) -> np.ndarray:
    return array


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"C": in_rows, "F": in_columns, "A": unchanged}


def reader_of(ls: ir.LoopSet, name: str) -> Callable[[Any], Any]:
    """How an array, or a number in an array without axes, becomes the parameter `name` of compiled code."""
    if not ls.has_array(name):
        kind = ls.scalar(name).type
        assert kind is not None
        return NUMBERS[kind]
    declared = ls.array(name).type
    assert declared is not None
    return LAYOUTS[declared.layout]


def copier_of(ls: ir.LoopSet, name: str) -> Callable[[np.ndarray], np.ndarray]:
    """The same of an array that the loops write: an array of its own."""
    declared = ls.array(name).type
    assert declared is not None
    return partial(np.array, order="F" if declared.layout == "F" else "C", copy=True)


def dtype_of_kind(kind: ScalarType | ArrayType) -> torch.dtype:
    return DTYPES[kind.dtype] if isinstance(kind, ArrayType) else NUMBER_DTYPES[kind]


def maker_of(kind: ScalarType | ArrayType) -> Callable[[Any], torch.Tensor]:
    """How a value that compiled code returned becomes a tensor."""
    if isinstance(kind, ArrayType):
        return torch.from_numpy
    dtype = np.dtype(str(NUMBER_DTYPES[kind]).removeprefix("torch."))
    return lambda number: torch.from_numpy(np.array(number, dtype))


def stacked(parts: Sequence[Any], kind: ScalarType | ArrayType, sizes: tuple[int, ...]) -> torch.Tensor:
    """Values of one output for each element of a batch of `sizes`, in order, as one tensor."""
    dtype = np.dtype(str(dtype_of_kind(kind)).removeprefix("torch."))
    found = np.stack([np.asarray(p, dtype) for p in parts])
    return torch.from_numpy(found.reshape(*sizes, *found.shape[1:]))
