"""The kinds of numbers in lists. In a list each has its own; in an array, which a list is kept in, all have one."""

from __future__ import annotations

from loopdiff.frontend.arrays.element_types import kind_so_far
from loopdiff.frontend.binding.types import Kind, join_kinds
from loopdiff.frontend.capture import ScalarArgument
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import C64, F32, ArrayType, ScalarType
from loopdiff.ir.walk import nodes_in, subexprs

NARROW = (F32, C64)
DOUBLES = (Kind.WEAK, Kind.WEAK_COMPLEX)
SAME_TYPE = "make an array of the type that is meant: `np.zeros(n, dtype=np.float32)`, `np.array(v, dtype=x.dtype)`"


def refuse_mixed_lists(state: State, body: tuple[ir.Stmt, ...]) -> None:
    """Rejections (LD134) of lists of Python's floats where there is float32: elements of an array widen what they meet,
    Python's floats do not; and of integers beside floats, in an array of these."""
    is_narrow = bool(state.whole.lists) and has_narrow(state, body)
    for array, made in state.whole.lists.items():
        values = state.arrays[array].values if array in state.arrays else ()
        if not values:
            continue
        kinds, span = [kind_so_far(state, v) for v in values], made.owner.source.span(made.display)
        if is_narrow and join_kinds(*kinds) in DOUBLES:
            message = "this list holds floats of Python, in a function that computes with float32"
            state.reject("LD134", message, span, SAME_TYPE)
        is_mixed = join_kinds(*kinds) not in (Kind.BOOL, Kind.INT)
        if is_mixed and any(k is Kind.INT and not is_small(v) for k, v in zip(kinds, values, strict=True)):
            message = "this list holds floats, and integers that may be too large for one"
            state.reject("LD134", message, span, "write `float(...)` of the integers")


def is_small(value: ir.Expr) -> bool:
    """Whether `value` is an integer that a float holds."""
    return isinstance(value, ir.Index | ir.Dim) or (isinstance(value, ir.Const) and abs(value.value) < 1 << 53)


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
