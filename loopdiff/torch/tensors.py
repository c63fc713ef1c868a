"""Tensors as the NumPy arrays and numbers that compiled code takes, and back, over the same memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import torch

from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.frontend.capture import ArgumentType, ScalarArgument, argument_type
from loopdiff.frontend.extents import small_axes
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ELEMENT_TYPES, ArrayType, ScalarType

DTYPES = {name: getattr(torch, name) for name in ELEMENT_TYPES}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
NUMBER_DTYPES = {
    ScalarType.BOOL: torch.bool, ScalarType.INT: torch.int64, ScalarType.F32: torch.float32,
    ScalarType.F64: torch.float64,
}  # fmt: skip
NUMBERS: dict[ScalarType, Callable[[Any], Any]] = {
    ScalarType.BOOL: bool, ScalarType.INT: int, ScalarType.F32: np.float32, ScalarType.F64: float,
}  # fmt: skip
PLAIN = (torch.Tensor, torch.nn.Parameter)
HALVES = (torch.float16, torch.bfloat16)


def type_of_tensor(name: str, value: torch.Tensor) -> ArgumentType:
    """loopdiff's type of a tensor in rows. Raises ArgumentError (LD350) for what it does not compile, by name."""
    if value.layout is not torch.strided:
        message = f"`{name}` is {str(value.layout).removeprefix('torch.')}, not a dense tensor"
        raise ArgumentError(reject("LD350", message, NOWHERE, "pass its values, and its indices as integers"))
    dtype = NAMES.get(value.dtype)
    if dtype is None:
        found = str(value.dtype).removeprefix("torch.")
        message = f"`{name}` has dtype {found}, which loopdiff does not compile"
        raise ArgumentError(reject("LD350", message, NOWHERE))
    require_numpy_type(name, dtype)
    if value.ndim:
        return ArrayType(dtype, value.ndim, "C", small_axes(value.shape))
    return ScalarArgument(ELEMENT_TYPES[dtype])


def require_numpy_type(name: str, dtype: str) -> None:
    """Raise ArgumentError (LD350) for bfloat16 where NumPy has no such type: a package brings it."""
    if dtype == "bfloat16":
        try:
            import_module("ml_dtypes")
        except ImportError:
            message = f"`{name}` has dtype {dtype}, which NumPy does not know"
            raise ArgumentError(reject("LD350", message, NOWHERE, "install `ml_dtypes`")) from None


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
    if bare.dtype is torch.bfloat16:
        return bare.view(torch.int16).numpy().view(np.dtype("bfloat16"))
    return bare.numpy()


def tensor_of(array: np.ndarray) -> torch.Tensor:
    """The memory of an array as a tensor."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def widened_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """A derivative by a half as one of float32, which the loops take."""
    return tensor.float() if tensor.dtype in HALVES else tensor


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
        return tensor_of
    dtype = np.dtype(str(NUMBER_DTYPES[kind]).removeprefix("torch."))
    return lambda number: torch.from_numpy(np.array(number, dtype))


def stacked(parts: Sequence[Any], kind: ScalarType | ArrayType, sizes: tuple[int, ...]) -> torch.Tensor:
    """Values of one output for each element of a batch of `sizes`, in order, as one tensor."""
    dtype = np.dtype(str(dtype_of_kind(kind)).removeprefix("torch."))
    found = np.stack([np.asarray(p, dtype) for p in parts])
    return tensor_of(found.reshape(*sizes, *found.shape[1:]))
