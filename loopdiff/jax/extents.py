"""What is known of extents when JAX traces: numbers, or expressions of those that it leaves open."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import jax

from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_expr
from loopdiff.ir.walk import subexprs
from loopdiff.memory.arena import EXTENT_NAMES

Shape = tuple[int, ...]
UNDECIDED = "InconclusiveDimensionOperation"  # in `jax.errors` since JAX 0.8
Undecided: Any = getattr(
    jax.errors if hasattr(jax.errors, UNDECIDED) else importlib.import_module("jax.core"), UNDECIDED
)


def by_name(statics: Mapping[str, int], dims: Mapping[str, Shape]) -> dict[str, Any]:
    """Static integers, and arrays of which only the shapes are known, as names in the text of an expression."""
    return {**statics, **{n: SimpleNamespace(shape=shape) for n, shape in dims.items()}}


def is_refuted(cond: ir.Expr, known: Mapping[str, Any]) -> bool:
    """Whether a condition does not hold; shapes that JAX leaves open may not say."""
    try:
        return not eval(print_expr(cond), {**EXTENT_NAMES, **known})
    except Undecided:
        return False


def known_extent(expr: ir.Expr, statics: Mapping[str, int], dims: Mapping[str, Shape]) -> int | None:
    """The value of an integer expression as far as it follows from static integers and from shapes that are numbers."""
    nodes = list(subexprs(expr))
    names = {e.array if isinstance(e, ir.Dim) else e.name for e in nodes if isinstance(e, ir.Dim | ir.Param)}
    known = by_name(statics, dims)
    if not names <= known.keys() or not all(isinstance(e, ir.Const | ir.Dim | ir.Param | ir.Apply) for e in nodes):
        return None
    try:
        value = eval(print_expr(expr), dict(EXTENT_NAMES) | known)
    except (Undecided, ArithmeticError):
        return None
    return value if isinstance(value, int) else None
