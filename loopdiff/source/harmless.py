"""Which functions of libraries change none of their arguments, nor anything else that is read later."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

import numpy as np

from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.scopes import LIBRARIES, MISSING

HARMLESS = (*LIBRARIES, "builtins", "math", "cmath", "collections")
CHANGING = (
    "copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "shuffle", "at", "setattr", "delattr",
    "exec", "eval", "next", "map", "filter", "apply_along_axis", "apply_over_axes", "fromfunction", "fromiter",
    "piecewise"
)  # fmt: skip


def changes_nothing(value: Any, node: ast.Call) -> bool:
    """Whether `node`, which calls `value`, changes nothing."""
    if value is MISSING or module_of(value) not in HARMLESS or is_of_an_object(value):
        return False
    if getattr(value, "__name__", "") in CHANGING or isinstance(value, np.vectorize):
        return False
    return not is_written_into(value, node)


def all_change_nothing(node: ast.AST, value_of: Callable[[ast.expr], Any]) -> bool:
    """Whether all that is called in `node` changes nothing; `value_of` says what names from outside mean."""
    calls = (n for n in syntax_nodes(node) if isinstance(n, ast.Call))
    return all(changes_nothing(value_of(call.func), call) for call in calls)


def module_of(value: Any) -> str:
    owner = value if isinstance(value, FunctionType) or getattr(value, "__module__", None) else type(value)
    return str(owner.__module__).split(".")[0]


def is_of_an_object(value: Any) -> bool:
    """Whether `value` is a method, of something that it may change."""
    own = getattr(value, "__self__", None) if isinstance(value, BuiltinFunctionType) else None
    return isinstance(value, MethodDescriptorType) or not isinstance(own, ModuleType | type | np.ufunc | None)


def is_written_into(value: Any, node: ast.Call) -> bool:
    """Whether a result may go into an argument."""
    count = len(node.args)
    if any(k.arg in (None, "out") or str(k.arg).startswith("overwrite") for k in node.keywords):
        return True
    if value is np.nan_to_num:
        return count + len(node.keywords) > 1
    if not module_of(value).startswith(LIBRARIES) and not isinstance(getattr(value, "__self__", None), np.ufunc):
        return False
    if any(isinstance(a, ast.Starred) for a in node.args):
        return True
    return count > places_before_out(value)


def places_before_out(value: Any) -> float:
    """How many arguments may come without the one that the result goes into."""
    if isinstance(value, np.ufunc):
        return value.nin
    if isinstance(getattr(value, "__self__", None), np.ufunc):
        return 3
    try:
        names = list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return float("inf")
    return names.index("out") if "out" in names and value is not np.einsum else float("inf")
