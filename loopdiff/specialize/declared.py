"""Types of the arguments of a call, and types given in place of arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numba
import numpy as np

from loopdiff.errors import NOWHERE, ArgumentError, UnsupportedLoopError
from loopdiff.errors.codes import reject
from loopdiff.frontend.capture import ArgumentType, ScalarArgument, argument_types
from loopdiff.frontend.extents import small_axes
from loopdiff.immutable import replace
from loopdiff.ir.types import BOOL, C128, ELEMENT_TYPES, F64, INT, NUMBER_TYPES, ArrayType, Layout

LAYOUTS: dict[str, Layout] = {"C": "C", "F": "F"}
PYTHON_TYPES = {float: (F64, True), int: (INT, True), bool: (BOOL, True), complex: (C128, True)}


def types_of(arguments: Mapping[str, Any]) -> dict[str, ArgumentType]:
    """Types by parameter name. Raises ArgumentError (LD209, LD210) naming every argument that has none."""
    try:
        return argument_types(arguments)
    except UnsupportedLoopError as error:  # the loop may be all right, this call of it is not
        raise ArgumentError(*error.diagnostics) from None


def is_declaration(value: Any) -> bool:
    """Whether `value` is a type rather than an argument."""
    return isinstance(value, numba.types.Type | ArrayType | ScalarArgument | type)


def declared_type(name: str, value: Any) -> ArgumentType:
    """The argument type that `value` (a type, or an argument) stands for. Raises ArgumentError (LD346)."""
    match value:
        case ArrayType() | ScalarArgument():
            return value
        case numba.types.Array() if str(value.dtype) in ELEMENT_TYPES:
            return ArrayType(str(value.dtype), value.ndim, LAYOUTS.get(value.layout, "A"))
        case numba.types.Type() if str(value) in NUMBER_TYPES:
            return ScalarArgument(NUMBER_TYPES[str(value)])
        case type() if value in PYTHON_TYPES:
            return ScalarArgument(*PYTHON_TYPES[value])
        case type() if issubclass(value, np.generic) and np.dtype(value).name in NUMBER_TYPES:
            return ScalarArgument(NUMBER_TYPES[np.dtype(value).name])
        case type() | numba.types.Type():
            raise ArgumentError(reject("LD346", f"`{name}` cannot have the type {value}", NOWHERE))
        case _:
            found = types_of({name: value})[name]
            return replace(found, axes=small_axes(value.shape)) if isinstance(found, ArrayType) else found
