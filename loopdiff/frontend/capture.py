"""Types of the arguments of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from loopdiff.errors import NOWHERE, Diagnostic, Span, UnsupportedLoopError
from loopdiff.errors.codes import reject
from loopdiff.frontend.extents import small_axes, with_axes
from loopdiff.immutable import immutable
from loopdiff.ir.types import BOOL, C128, ELEMENT_TYPES, F64, HALVES, INT, NUMBER_TYPES, ArrayType, Layout, ScalarType


@immutable
class ScalarArgument:
    """Type of a scalar argument. `is_weak`: a Python number, which does not widen float32 expressions."""

    type: ScalarType
    is_weak: bool = False


ArgumentType = ArrayType | ScalarArgument


def argument_types(arguments: Mapping[str, Any]) -> dict[str, ArgumentType]:
    """Types by parameter name.

    Raises UnsupportedLoopError (LD209, LD210) naming every argument that has none.
    """
    try:
        types = {name: argument_type(value) for name, value in arguments.items()}
    except TypeError:
        found = [refusal_of_value(name, value) for name, value in arguments.items()]
        raise UnsupportedLoopError(*(d for d in found if d is not None)) from None
    return with_axes(types, {n: a.shape for n, a in arguments.items() if isinstance(a, np.ndarray)})


def argument_type(value: Any) -> ArgumentType:
    """Type of one argument. Raises TypeError if loopdiff has no type for it."""
    if isinstance(value, np.ndarray):
        name = value.dtype.name
        if name not in ELEMENT_TYPES or not value.dtype.isnative:
            raise TypeError(name)
        return ArrayType(name, value.ndim, layout_of(value), small_axes(value.shape))
    return scalar_type(value)


def layout_of(array: np.ndarray) -> Layout:
    flags = array.flags
    return "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"


def scalar_type(value: Any) -> ScalarArgument:
    match value:
        case np.floating() if value.dtype.name in NUMBER_TYPES:
            return ScalarArgument(NUMBER_TYPES[value.dtype.name])
        case bool() | np.bool_():
            return ScalarArgument(BOOL, isinstance(value, bool))
        case int():
            return ScalarArgument(INT, True)
        case np.integer() if value.dtype.name in ELEMENT_TYPES:
            return ScalarArgument(INT)
        case float():
            return ScalarArgument(F64, True)
        case np.complexfloating() if value.dtype.name in ELEMENT_TYPES:
            return ScalarArgument(ELEMENT_TYPES[value.dtype.name])
        case complex():
            return ScalarArgument(C128, True)
        case _:
            raise TypeError(type(value).__name__)


class Foreign(NamedTuple):
    """What an array or table of another library is, and what to pass in its place."""

    said: str
    hint: str


# By the library of a class and the start or end of its name, or of the name of a class above it; the first that fits.
KINDS: tuple[tuple[str, str, Foreign], ...] = (
    ("jax", "Tracer", Foreign("is traced by JAX", "`loopdiff.jax.wrap(f)` is a function for `jit`, `grad` and `vmap`")),
    ("jaxlib", "Array", Foreign("is an array of JAX", "pass `np.asarray({})`, or call `loopdiff.jax.wrap(f)`")),
    ("torch", "Tensor", Foreign("is a tensor of PyTorch", "pass `{}.numpy()`, or call `loopdiff.torch.wrap(f)`")),
    ("tensorflow", "Tensor", Foreign("is a tensor of TensorFlow", "pass `{}.numpy()`")),
    ("pandas", "", Foreign("is a table or column of pandas", "pass `{}.to_numpy()`")),
    ("polars", "", Foreign("is a table or column of polars", "pass `{}.to_numpy()`")),
    ("xarray", "", Foreign("is an array of xarray", "pass `{}.values`")),
    ("scipy", "sparse", Foreign("is a sparse matrix", "pass `{0}.toarray()`, or `{0}.data`, `{0}.indices` and so on")),
)  # fmt: skip


def foreign_value(name: str, value: Any) -> Foreign | None:
    """What `value`, the argument `name`, is and what to pass, where it is of a known library."""
    for kind in type(value).__mro__:
        library, *rest = str(kind.__module__).split(".")
        for of, word, found in KINDS:
            if library == of and (word in kind.__name__ or word in rest or word == ""):
                return Foreign(found.said, found.hint.format(name))
    return None


def number_for_array(name: str, span: Span) -> Diagnostic:
    return reject("LD201", f"`{name}` is used as an array, but a number was passed", span)


def refusal_of_value(name: str, value: Any) -> Diagnostic | None:
    """The Diagnostic for an argument without a type; None if it has one."""
    try:
        argument_type(value)
    except TypeError:
        pass
    else:
        return None
    if isinstance(value, np.ndarray):
        if not value.dtype.isnative:
            message = f"`{name}` has dtype {value.dtype.str}, whose byte order is not the machine's"
            return reject("LD209", message, NOWHERE, "convert it: `x.astype(x.dtype.newbyteorder('='))`")
        kind = "a structured dtype" if value.dtype.names else f"dtype {value.dtype.name}"
        return reject("LD209", f"`{name}` has {kind}", NOWHERE, dtype_hint(value.dtype))
    foreign = foreign_value(name, value)
    if foreign is not None:
        return reject("LD210", f"`{name}` {foreign.said}", NOWHERE, foreign.hint)
    is_half = type(value).__name__ in HALVES
    hint = "convert it: `np.float32(x)`; elements of arrays can be of this type" if is_half else None
    return reject("LD210", f"`{name}` is a {type(value).__name__}", NOWHERE, hint)


def dtype_hint(dtype: np.dtype[Any]) -> str | None:
    match dtype.kind:
        case "O":
            return "convert it: `x.astype(np.float64)`; if its rows differ in length, pass one flat array and offsets"
        case "V" if dtype.names:
            return f"pass its fields as arrays: `x[{dtype.names[0]!r}]`"
        case "u":
            return "convert it: `x.astype(np.int64)`"
        case _:
            return None
