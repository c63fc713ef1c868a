"""Of which classes of Python's and NumPy's arguments are, and what `isinstance` says of these."""

from __future__ import annotations

import ast
import collections
import dataclasses
from typing import Any

import numpy as np

from loopdiff.frontend.capture import ScalarArgument
from loopdiff.ir.types import INT
from loopdiff.source.functions import MISSING

ROWS = (list, tuple, collections.deque)


def class_of(number: ScalarArgument) -> type[Any]:
    """Of which class of Python's or NumPy's numbers an argument is; integers of NumPy may be of any width."""
    kind = np.dtype(number.type.value).type
    return type(kind(0).item()) if number.is_weak else np.integer if number.type is INT else kind


def alternatives(kinds: ast.expr) -> list[ast.expr]:
    """The classes in `(A, B)` and `A | B`."""
    match kinds:
        case ast.Tuple(elts=elts):
            return elts
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*alternatives(left), *alternatives(right)]
        case _:
            return [kinds]


def are_structures(classes: tuple[type[Any], ...]) -> bool:
    """Whether numbers, arrays and functions are of none of the `classes`."""
    return all(issubclass(c, (tuple, list, dict, str)) or dataclasses.is_dataclass(c) for c in classes)


def may_be_row(asked: type[Any]) -> bool:
    """Whether a list, a tuple or a queue may be an instance of the class `asked`."""
    return any(issubclass(kind, asked) or issubclass(asked, kind) for kind in ROWS)


def is_derived(own: type[Any], classes: tuple[type[Any], ...]) -> Any:
    """Whether what is of the class `own`, or of one derived from it, is an instance of one of `classes`; MISSING where
    that depends on which."""
    if issubclass(own, classes):
        return True
    is_open = any(issubclass(c, own) and c is not bool for c in classes)  # truth values have types of their own
    return MISSING if is_open else False
