"""The kinds of numbers in lists. In a list each has its own; in an array, which a list is kept in, all have one."""

from __future__ import annotations

import numpy as np

from loopdiff.frontend.arrays.element_types import kind_so_far
from loopdiff.frontend.binding.sizes import NARROW
from loopdiff.frontend.binding.types import Kind, join_kinds
from loopdiff.frontend.capture import ScalarArgument
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.ir.walk import nodes_in, subexprs

NONE: frozenset[str] = frozenset()
DOUBLES = (Kind.WEAK, Kind.WEAK_COMPLEX)
SAME_TYPE = "make an array of the type that is meant: `np.zeros(n, dtype=np.float32)`, `np.array(v, dtype=x.dtype)`"


def refuse_wide_lists(state: State, body: tuple[ir.Stmt, ...]) -> None:
    """Rejections (LD134) of lists of Python's floats where there is float32: elements of an array widen what they meet,
    Python's floats do not; in an array of float32 they would lose digits."""
    is_narrow = bool(state.whole.lists) and has_narrow(state, body)
    for array, made in state.whole.lists.items():
        values = state.arrays[array].values if array in state.arrays else ()
        if not values:
            continue
        kinds, span = [kind_in_list(state, v) for v in values], made.owner.source.span(made.display)
        loses = any(loses_digits(v, k) for v, k in zip(values, kinds, strict=True))
        if is_narrow and (join_kinds(*kinds) in DOUBLES or loses):
            message = "this list holds floats of Python, in a function that computes with float32"
            state.reject("LD134", message, span, SAME_TYPE)


def loses_digits(value: ir.Expr, kind: Kind) -> bool:
    """Whether `value` is a float of Python that float32 may not hold: other literals than 0.0, 0.5 and the like."""
    is_single = isinstance(value, ir.Const) and float(np.float32(value.value)) == value.value
    return kind in DOUBLES and not is_single


def kind_in_list(state: State, value: ir.Expr, met: frozenset[str] = NONE) -> Kind:
    """The kind of `value`, which for an element of a list is that of all that is put into it."""
    match value:
        case ir.Load(access=ir.Access(array=array)) if array in state.whole.lists and state.arrays[array].values:
            inner = (v for v in state.arrays[array].values if array not in met)
            return join_kinds(Kind.BOOL, *(kind_in_list(state, v, met | {array}) for v in inner))
        case _:
            return kind_so_far(state, value)


def has_narrow(state: State, body: tuple[ir.Stmt, ...]) -> bool:
    """Whether anything in the function may be of single precision."""
    kinds = [t.type if isinstance(t, ScalarArgument) else t.element for t in state.need_types().values()]
    kinds += [d.type.element for d in state.arrays.values() if isinstance(d.type, ArrayType)]
    values = (e for d in state.arrays.values() for v in d.values for e in subexprs(v))
    kinds += [k for e in (*nodes_in(body), *values) if (k := own_type(e)) is not None]
    return any(k in NARROW for k in kinds)


def own_type(expr: ir.Expr) -> ScalarType | None:
    """The type that `expr` itself says it has."""
    return expr.dtype if isinstance(expr, ir.Const | ir.Cast) else None
