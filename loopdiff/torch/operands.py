"""What callers pass and get: operands, shapes of outputs, complex values in parts, refusals by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from loopdiff.differentiable import Differentiable
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.frontend.capture import ArgumentType, ScalarArgument, argument_type
from loopdiff.ir.types import ELEMENT_TYPES, ArrayType, ScalarType
from loopdiff.specialize.interface import is_complex
from loopdiff.specialize.specialization import Specialization
from loopdiff.torch.program import TensorProgram
from loopdiff.torch.tensors import HALVES, NAMES, PLAIN, tensor_of

OutputShape = Callable[..., Any] | torch.Tensor | tuple[int, ...]


def as_operand(name: str, value: Any) -> Any:
    """A tensor or a Python number; arrays of NumPy become tensors over the same memory. ArgumentError (LD350)."""
    value = concrete(value)
    if isinstance(value, torch.Tensor | bool | int | float | complex) and not isinstance(value, np.generic):
        return value
    if isinstance(value, np.ndarray | np.generic):
        found = np.asarray(value)
        if found.dtype.name not in ELEMENT_TYPES:
            message = f"`{name}` has dtype {found.dtype.name}, which loopdiff does not compile"
            raise ArgumentError(reject("LD350", message, NOWHERE))
        return tensor_of(found if found.flags.writeable else found.copy())
    raise ArgumentError(reject("LD350", f"`{name}` is a {type(value).__name__}, not a tensor or a number", NOWHERE))


def concrete(value: Any) -> Any:
    """A number that a tracer would leave open as the one that it stands for: who traces looks at it again then."""
    match value:
        case torch.SymInt():
            return int(value)
        case torch.SymFloat():
            return float(value)
        case torch.SymBool():
            return bool(value)
        case _:
            return value


def is_plain(value: Any) -> bool:
    """Whether a number, or a real tensor in the memory of the CPU, which compiled code takes as it is."""
    if not isinstance(value, torch.Tensor):
        return isinstance(value, float | int)
    is_known = value.layout is torch.strided and value.dtype in NAMES and not value.is_complex()
    is_known = is_known and value.dtype not in HALVES  # derivatives of which have another type in the loops
    return type(value) in PLAIN and value.device.type == "cpu" and is_known


def type_of_array(value: Any) -> ArgumentType:
    """loopdiff's type of an array, an array without axes that holds a number, or a Python number."""
    if isinstance(value, np.ndarray) and not value.ndim:
        return ScalarArgument(ELEMENT_TYPES[value.dtype.name])
    return argument_type(value)


def stand_in(value: Any) -> Any:
    """An array of the dtype and shape of a tensor, of halves of float32; a number for one without axes; others as they
    are."""
    if not isinstance(value, torch.Tensor):
        return concrete(value)
    dtype = np.dtype("float32" if value.dtype in HALVES else NAMES.get(value.dtype, "float64"))
    number = dtype.type(0)
    return np.broadcast_to(number, tuple(map(int, value.shape))) if value.ndim else number


def refuse_outputs(f: Differentiable, names: Collection[str]) -> None:
    """Raise ArgumentError (LD350) if there are `names`, which `f` does not write."""
    for name in sorted(names):
        message = f"`outputs` names `{name}`, which is no array that `{f.plain.__name__}` writes"
        raise ArgumentError(reject("LD350", message, NOWHERE))


def refuse_devices(f: Differentiable, given: Mapping[str, Any]) -> None:
    """Raise ArgumentError (LD350) for tensors that are not the CPU's."""
    for name, value in given.items():
        if isinstance(value, torch.Tensor) and value.device.type not in ("cpu", "meta"):
            message = f"`{name}` is on {value.device}, and `{f.plain.__name__}` is compiled for the CPU"
            hint = f"pass `{name}.cpu()`, or wrap `f.on('cuda')`"
            raise ArgumentError(reject("LD350", message, NOWHERE, hint))


def output_of(name: str, spec: OutputShape, given: Mapping[str, Any]) -> torch.Tensor:
    """A pure output before the call: zeros. ArgumentError (LD351) if that has no shape."""
    found = spec(*given.values()) if callable(spec) and not isinstance(spec, torch.Tensor) else spec
    tensors = [v for v in given.values() if isinstance(v, torch.Tensor)]
    if isinstance(found, torch.Tensor) and found.device.type != "meta":
        return torch.zeros_like(found.detach(), memory_format=torch.contiguous_format)
    if isinstance(found, torch.Tensor):
        shape, dtype = tuple(found.shape), found.dtype
    elif isinstance(found, tuple) and all(isinstance(n, int | torch.SymInt) and n >= 0 for n in found):
        floats = [t.dtype for t in tensors if t.is_floating_point() or t.is_complex()]
        shape, dtype = found, torch.get_default_dtype() if not floats else floats[0]
        for other in floats[1:]:
            dtype = torch.promote_types(dtype, other)
    else:
        message = f"the shape of output `{name}` is {found!r}, not a tuple of integers"
        raise ArgumentError(reject("LD351", message, NOWHERE))
    device = next((t.device for t in tensors if t.ndim), None)
    return torch.zeros(shape, dtype=dtype, device=device)


# -- complex values --------------------------------------------------------------------------------------------
def tensor_parts(spec: Specialization, name: str, value: Any) -> Iterator[Any]:
    """A value as those of the parameters that it becomes; PyTorch differentiates this by its own convention."""
    kind = spec.interface.types[name]
    if not is_complex(kind):
        yield value
    elif isinstance(kind, ArrayType):
        yield torch.view_as_real(value.resolve_conj())
    else:
        yield from (value.real, value.imag)


def assembled(program: TensorProgram, found: Sequence[torch.Tensor]) -> Any:
    """What a program gave, as callers know it: one value as it is, several as a tuple."""
    interface, rest = program.spec.interface, iter(found)
    kinds = [*interface.results, *(interface.types[n] for n in interface.names if written_by(program, n))]
    values = [in_one_piece(kind, rest) for kind in kinds]
    return values[0] if len(values) == 1 else tuple(values)


def written_by(program: TensorProgram, name: str) -> bool:
    return any(part in program.spec.written for part in program.spec.interface.parts[name])


def in_one_piece(kind: ArrayType | ScalarType, rest: Iterator[torch.Tensor]) -> torch.Tensor:
    value = next(rest)
    if not is_complex(kind):
        return value
    return torch.view_as_complex(value) if isinstance(kind, ArrayType) else torch.complex(value, next(rest))
