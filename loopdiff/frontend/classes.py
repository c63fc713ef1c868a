"""Of which classes of Python's and NumPy's arguments are, and what `isinstance` says of these."""

from __future__ import annotations

import abc
import ast
import collections
import dataclasses
import inspect
import sys
import typing
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from loopdiff.frontend.capture import ScalarArgument
from loopdiff.ir.types import INT
from loopdiff.source.functions import MISSING
from loopdiff.source.scopes import LIBRARIES

OVERRIDDEN = ("__getattribute__", "__getattr__", "__setattr__")
OF_ROWS = ("__getitem__", "__iter__", "__len__", "__contains__")  # by which named tuples are rows
NUMERIC = (
    "__array__", "__array_interface__", "__cuda_array_interface__", "__dlpack__", "__float__", "__index__",
    "__complex__",
)  # fmt: skip
BY_PYTHON = 1 << 9  # among the `__flags__` of classes that Python code defines
MARKS = (abc.ABC, typing.Generic)  # bases that say something of a class, and do nothing
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
    return all(issubclass(c, (tuple, list, dict, str)) or is_record_class(c) for c in classes)


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


def is_record_class(value: type) -> bool:
    is_tuple = issubclass(value, tuple) and hasattr(value, "_fields")
    return is_tuple or dataclasses.is_dataclass(value) or is_plain_class(value)


def is_plain_class(kind: type) -> bool:
    """Whether objects of `kind`, a class of the program that is no dataclass or Python's SimpleNamespace, have what was
    assigned to their attributes: nobody looks at that on the way."""
    if kind is SimpleNamespace:
        return True
    made, own = kind.__init__, [c for c in kind.__mro__[:-1] if c not in MARKS]
    is_open = type(kind) is type or (type(kind) is abc.ABCMeta and not inspect.isabstract(kind))
    if not is_open or not kind.__dictoffset__ or not (made is object.__init__ or isinstance(made, FunctionType)):
        return False
    if dataclasses.is_dataclass(kind) or not all(c.__flags__ & BY_PYTHON and "__slots__" not in vars(c) for c in own):
        return False
    homes = {str(c.__module__).split(".")[0] for c in own}
    is_plain = all(getattr(kind, n, None) is getattr(object, n, None) for n in ("__new__", *OVERRIDDEN))
    is_number = any(hasattr(kind, name) for name in NUMERIC)
    return is_plain and not is_number and homes.isdisjoint((*LIBRARIES, *sys.stdlib_module_names, "loopdiff"))
